"""The journal's tables in PostgreSQL: those of a file, in a schema of their own, brought up to date by whoever comes
first."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from hookgate.protocol.catalog import StoreCorrupt, StoreTooNew
from hookgate.store.journal.schema import JOURNAL
from hookgate.store.postgres import media
from hookgate.store.postgres.dialect import FUNCTIONS, table

SCHEMA = "hookgate"
MADE = (
    "CREATE SCHEMA hookgate",
    "CREATE TABLE hookgate.version (application BIGINT NOT NULL, number BIGINT NOT NULL)",
    *FUNCTIONS,
)
SHARED = (
    """
    CREATE TABLE IF NOT EXISTS gateways (
        id TEXT COLLATE "C" PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, since DOUBLE PRECISION NOT NULL,
        beat BIGINT NOT NULL DEFAULT 0, draining BOOLEAN NOT NULL DEFAULT false,
        description TEXT NOT NULL DEFAULT ''
    )
    """,
    # Who has a session works on what is said there and brings what it is sent.
    """
    CREATE TABLE IF NOT EXISTS owners (
        session TEXT COLLATE "C" PRIMARY KEY, gateway TEXT COLLATE "C" NOT NULL REFERENCES gateways ON DELETE CASCADE
    )
    """,
    "CREATE INDEX IF NOT EXISTS owners_of ON owners (gateway)",
    # What is too long for a notification; nobody misses it after a crash.
    """
    CREATE UNLOGGED TABLE IF NOT EXISTS notes (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at DOUBLE PRECISION NOT NULL, body BYTEA NOT NULL
    )
    """,
    *media.MAKE,
    # Messages of conversations that go on, each at the gateway where it belongs, in one trip and few statements.
    # `added` is 0 for one that takes more, or would have to wait for somebody: the others do not wait for it. Each
    # statement sees what is stored when it begins. What is looked up is a subquery for each of them, since a join of
    # all is planned for a thousand, by way of whole tables.
    """
    CREATE OR REPLACE FUNCTION accept_together(
        sessions TEXT[], agents TEXT[], gateways TEXT[], digests BYTEA[], kinds TEXT[], bodies BYTEA[],
        now DOUBLE PRECISION, its_format BIGINT
    ) RETURNS TABLE (added BIGINT, place BIGINT, going_on BIGINT, behind BOOLEAN) LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan AS $$
    DECLARE
        free BOOLEAN[];
        numbers BIGINT[];
        places BIGINT[];
        generations_ BIGINT[];
    BEGIN
        SELECT array_agg(pg_try_advisory_xact_lock_shared(hashtextextended(it, 0)) ORDER BY at) INTO free
        FROM unnest(sessions) WITH ORDINALITY AS its (it, at);
        WITH coming AS MATERIALIZED (
            SELECT at, going.number AS goes, going.generation,
                CASE WHEN going.number > 0 THEN nextval('messages_number_seq') END AS number
            FROM generate_series(1, cardinality(sessions)) AS at
            LEFT JOIN LATERAL (
                SELECT c.number, c.generation FROM conversations c
                WHERE free[at] AND c.session = sessions[at] AND c.agent = agents[at]
                AND c.generation = coalesce((
                    SELECT g.generation FROM generations g WHERE g.session = sessions[at]
                ), 0)
                AND gateways[at] IN ('', (SELECT o.gateway FROM owners o WHERE o.session = sessions[at]))
                LIMIT 1
            ) AS going ON true
        ), stored AS (
            INSERT INTO messages AS m (number, conversation, digest, kind, accepted_at, format, inbound)
            SELECT number, goes, digests[at], kinds[at], now, its_format, bodies[at] FROM coming WHERE number > 0
            ON CONFLICT (digest) DO NOTHING RETURNING m.number
        )
        SELECT array_agg(coalesce(stored.number, 0) ORDER BY at), array_agg(goes ORDER BY at),
            array_agg(coming.generation ORDER BY at)
        INTO numbers, places, generations_ FROM coming LEFT JOIN stored ON stored.number = coming.number;
        RETURN QUERY SELECT numbers[at], places[at], generations_[at],
            numbers[at] > 0 AND gateways[at] <> '' AND (
                SELECT true FROM messages m WHERE m.conversation = places[at] AND m.number + 0 < numbers[at]
                AND m.outcome IS NULL AND m.kind = 'message' AND m.joined_at = 0 LIMIT 1
            ) IS NOT NULL
        FROM generate_series(1, cardinality(sessions)) AS at;
    END
    $$
    """,
)
"""Of gateways that live, and the files of their messages, which lie in a folder without a database: no part of the
journal, and not carried over with it."""
SETTINGS = (
    f"SET search_path = {SCHEMA}",
    "SET application_name = 'hookgate'",
    "SET statement_timeout = '20s'",
    "SET lock_timeout = '10s'",
    "SET idle_in_transaction_session_timeout = '5s'",
)
MIGRATING = 0x6D696772
"""The lock of whoever brings it up to date."""


AHEAD = 1
"""Versions that the schema may be newer than this hookgate knows, so that gateways are brought up to date one after
another: a migration adds, and takes nothing away that the version before writes or reads."""


def bring_up_to_date(connection: Connection[Any]) -> None:
    """Raises StoreTooNew, and StoreCorrupt for a schema of another program; then nothing has changed."""
    connection.execute("BEGIN")
    try:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATING])
        version = stored_version(connection)
        if version == 0:
            for statement in MADE:
                connection.execute(statement.encode())
            connection.execute("INSERT INTO version VALUES (%s, 0)", [JOURNAL.application_id])
        for statements in JOURNAL.migrations[version:]:
            for statement in statements:
                connection.execute(table(statement).encode())
        for statement in SHARED:
            connection.execute(statement.encode())
        connection.execute("UPDATE version SET number = %s", [max(version, len(JOURNAL.migrations))])
        connection.execute("COMMIT")
    except BaseException:
        if not connection.closed:
            connection.execute("ROLLBACK")
        raise


def stored_version(connection: Connection[Any]) -> int:
    """0: nothing is there. Raises as `bring_up_to_date`."""
    if connection.execute("SELECT to_regnamespace(%s)", [SCHEMA]).fetchone() == (None,):
        return 0
    if connection.execute("SELECT to_regclass(%s)", [f"{SCHEMA}.version"]).fetchone() == (None,):
        raise StoreCorrupt(f"has a schema {SCHEMA} of another program; it was left as it is")
    row = connection.execute("SELECT application, number FROM version").fetchone()
    if row is None or row[0] != JOURNAL.application_id:
        raise StoreCorrupt(f"has a schema {SCHEMA} of another program; it was left as it is")
    newest = len(JOURNAL.migrations)
    if row[1] > newest + AHEAD:
        raise StoreTooNew(f"has version {row[1]}, made by a newer hookgate; this one knows {newest}")
    return row[1]
