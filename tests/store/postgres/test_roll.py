"""What gateways on one database know of each other at the moment that one comes or goes, or the database is away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import trio

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.cluster import WORK, Member, Note
from hookgate.protocol.journal.values import Arrival
from hookgate.store.places import Database
from hookgate.store.postgres import open_postgres_journal, roll
from hookgate.store.postgres.cluster import go
from hookgate.store.postgres.roll import Roll
from hookgate.store.postgres.tables import SharedTables
from tests.postgres import Server


async def test_of_what_waits_to_be_told_the_newest_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roll, "MOST_WAITING", 3)
    its = Roll("me")
    its.meet((Member("me", "here:1", "0", 0.0), Member("other", "there:1", "0", 0.0)))
    for number in range(5):
        its.tell(Note(WORK, f"{number}"))
    assert [note.session for _to, note in await its.news()] == ["2", "3", "4"]


async def test_who_has_asked_is_told_before_it_is_seen() -> None:
    its = Roll("me")
    its.meet((Member("me", "here:1", "0", 0.0),))
    its.tell(Note(WORK, "nobody"))
    its.tell(Note(WORK, "somebody"), "new")
    assert [note.session for _to, note in await its.news()] == ["somebody"]


TAKES = "INSERT INTO owners VALUES ('test:1', 'other') ON CONFLICT DO NOTHING"
GOES = "DELETE FROM gateways WHERE id = 'other'"


class Interleaved:
    """A connection to a database in which others do something `before` and `behind` the first statement that begins
    so."""

    def __init__(self, connection: psycopg.Connection[Any], beside: Callable[[str], object], begins: str) -> None:
        self._connection, self._beside, self._begins = connection, beside, begins
        self.before, self.behind = "", ""

    def execute(self, sql: bytes, values: Any) -> psycopg.Cursor[Any]:
        met = sql.decode().lstrip().startswith(self._begins)
        if met:
            self._beside(self.before)
        cursor = self._connection.execute(sql, values)
        if met:
            self._beside(self.behind)
            self._begins = "nothing"
        return cursor


@pytest.mark.parametrize("begins", ["INSERT INTO owners", "UPDATE owners"])
async def test_a_conversation_is_somewhere_when_who_had_it_goes_between_two_statements(
    server: Server, tmp_path: Path, begins: str
) -> None:
    address = server.database()

    def beside(sql: str) -> None:
        server.sql(f"SET search_path = hookgate; {sql}", address)

    async with open_postgres_journal(Database(address, tmp_path / "journal"), shared=True) as journal:
        beside("INSERT INTO gateways (id, name, version, since) VALUES ('other', 'far', '0', 0)")
        its = Roll(journal.cluster.me)
        its.meet(journal.cluster.members)
        with psycopg.connect(address) as connection:
            connection.execute("SET search_path = hookgate")
            interleaved = Interleaved(connection, beside, begins)
            if begins == "UPDATE owners":
                beside(TAKES)
                interleaved.before = GOES
            else:
                interleaved.before, interleaved.behind = TAKES, GOES
            tables = SharedTables(interleaved, 0.0, "here", its)  # type: ignore[arg-type]
            assert tables.own("test:1") == its.me


async def test_a_conversation_is_not_given_to_a_gateway_that_has_gone(server: Server, tmp_path: Path) -> None:
    """Who knows of it still thinks that it belongs there."""
    address = server.database()
    async with open_postgres_journal(Database(address, tmp_path / "journal"), shared=True) as journal:
        its = Roll(journal.cluster.me)
        its.meet((*journal.cluster.members, Member("gone", "there:1", "0", 0.0)))
        free, taken, *_ = [f"test:{number}" for number in range(100) if its.place_of(f"test:{number}") == "gone"]
        with psycopg.connect(address) as connection:
            connection.execute("SET search_path = hookgate")
            connection.execute("INSERT INTO gateways (id, name, version, since) VALUES ('lives', 'far', '0', 0)")
            connection.execute("INSERT INTO owners VALUES (%s, 'lives')", [taken])
            tables = SharedTables(connection, 0.0, "here", its)
            assert (tables.own(free, here=False), tables.own(taken, here=False)) == (its.me, "lives")


async def test_who_is_being_buried_claims_nothing_more(server: Server, tmp_path: Path) -> None:
    """Its claims had ended already, and one that came before it was gone held after that."""
    address = server.database()
    waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with open_postgres_journal(Database(address, tmp_path / "journal"), shared=True) as journal:
        accepted = await journal.intake.accept(Arrival(Inbound(Chat("test", "1"), "hello"), "agent", "k"))
        claims = list[object]()

        async def claim() -> None:
            claims.append(await journal.work.claim(journal.work.me, 60, message=accepted.id))

        with trio.fail_after(30), psycopg.connect(address) as connection:
            connection.execute("SET search_path = hookgate")
            go(journal.cluster.me, SharedTables(connection, 0.0, "here", Roll("other")))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(claim)
                while not server.sql(waits, address):
                    await trio.sleep(0.02)
                connection.commit()
        assert claims == [None]
