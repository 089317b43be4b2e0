"""A journal looked at without a gateway, or beside the one that writes it. Changes nothing; blocks."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from time import time

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.codec import Encoded
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.decisions import StoredGrant, StoredRequest
from hookgate.protocol.journal.people import StoredPerson
from hookgate.protocol.journal.values import Conversation, Draft
from hookgate.protocol.values import ToolResult
from hookgate.store.files import faults_named
from hookgate.store.journal.decisions import Votes
from hookgate.store.journal.encoding import decoded, decoded_answer
from hookgate.store.journal.engine.place import look_at
from hookgate.store.journal.keys import read_keys
from hookgate.store.journal.operators.listing import read_sessions
from hookgate.store.journal.tables import Tables, id_of

Line = dict[str, object]
"""A JSON object; values that are JSON already are `Encoded`."""


@contextmanager
def open_look(path: Path) -> Generator[Tables]:
    """All of it at one moment. Raises StoreFailed and its kinds, also for what is read within."""
    with closing(look_at(path)) as connection, faults_named(path):
        connection.execute("BEGIN")
        yield Tables(connection, time)


def is_unused(tables: Tables) -> bool:
    """Whether nothing has ever come in."""
    return tables.one("SELECT 1 FROM messages") is None


# --- check --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Checked:
    """`mistakes`: a line each; none: it is whole."""

    conversations: int
    messages: int
    unfinished: int
    to_send: int
    used_bytes: int
    mistakes: tuple[str, ...]


BOOKS = {
    "entries beyond the last number that was given": """
        SELECT count(*) FROM entries e JOIN conversations c ON c.number = e.conversation WHERE e.number > c.written
    """,
    "entries, calls, messages or rows of no conversation": """
        SELECT sum(n) FROM (
            SELECT count(*) AS n FROM entries WHERE conversation NOT IN (SELECT number FROM conversations)
            UNION ALL SELECT count(*) FROM calls WHERE conversation NOT IN (SELECT number FROM conversations)
            UNION ALL SELECT count(*) FROM messages WHERE conversation NOT IN (SELECT number FROM conversations)
            UNION ALL SELECT count(*) FROM outbox WHERE conversation NOT IN (SELECT number FROM conversations)
        ) counted
    """,
    "ended messages whose outcome nobody can see": """
        SELECT count(*) FROM messages m WHERE outcome IS NOT NULL AND inbound IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM passages WHERE message = m.number AND what = m.outcome)
    """,
}
BODIES = {
    "messages.inbound": Inbound,
    "entries.body": Draft,
    "calls.result": ToolResult,
    "requests.request": StoredRequest,
    "requests.votes": Votes,
    "grants.body": StoredGrant,
    "people.body": StoredPerson,
    "outbox.outbound": Outbound,
    "answers.body": None,
}
MOST_MISTAKES = 20


def check(tables: Tables) -> Checked:
    """Every page, every index, every value, and whether the books balance: as long as that takes."""
    pages = tables.damaged(MOST_MISTAKES)
    # What lies on damaged pages is not worth its own line.
    mistakes = pages or [*_values(tables), *_books(tables)]
    if pages:
        return Checked(0, 0, 0, 0, tables.used_bytes(), tuple(mistakes))
    messages, unfinished = tables.one(
        "SELECT count(*), count(*) - count(outcome) FROM messages WHERE inbound IS NOT NULL"
    ) or (0, 0)
    [to_send] = tables.one("SELECT count(*) FROM outbox WHERE state IS NULL") or (0,)
    conversations = len(read_sessions(tables))
    return Checked(conversations, messages, int(unfinished), to_send, tables.used_bytes(), tuple(mistakes))


def _values(tables: Tables) -> Iterator[str]:
    for name, kind in BODIES.items():
        table, column = name.split(".")
        if not tables.has(table):
            continue
        bad = 0
        for format_, text in tables.each(f"SELECT format, {column} FROM {table}"):  # noqa: S608
            try:
                _ = text is None or (decoded(kind, format_, text) if kind else decoded_answer(format_, text))
            except StoreFailed:
                bad += 1
        if bad:
            yield f"{bad} of {name} cannot be read"


def _books(tables: Tables) -> Iterator[str]:
    for what, sql in BOOKS.items():
        [count] = tables.one(sql) or (0,)
        if count:
            yield f"{count} {what}"


# --- export -------------------------------------------------------------------------------------------------

ID = "session || '/' || agent || '/' || generation"


def conversation_of(tables: Tables, id_: str) -> tuple[int, Conversation]:
    """By its id as it is listed, or by its chat where that has one alone. Raises StoreFailed."""
    found = tables.all(
        f"SELECT number, session, agent, generation FROM conversations WHERE {ID} = ? OR session = ?",  # noqa: S608
        *(id_, id_),
    )
    if len(found) == 1:
        return found[0][0], Conversation(*found[0][1:])
    which = ", ".join(Conversation(*row[1:]).id for row in found)
    raise StoreFailed(f"holds several of {id_}: {which}" if found else f"holds no conversation {id_}")


def exported(tables: Tables) -> Iterator[Line]:
    """Everything: conversation by conversation, then what belongs to none."""
    for (number,) in tables.all("SELECT number FROM conversations ORDER BY number"):
        yield from exported_conversation(tables, number)
    for id_, session, until, body in tables.each("SELECT id, session, ends_at, body FROM grants"):
        yield {"kind": "grant", "id": id_, "session": session, "until": until, "grant": Encoded(body)}
    for name, body in tables.all("SELECT name, body FROM people ORDER BY name") if tables.has("people") else ():
        yield {"kind": "person", "name": name, "person": Encoded(body)}
    for key in read_keys(tables):
        yield {"kind": "key", **asdict(key)}


def exported_conversation(tables: Tables, number: int) -> Iterator[Line]:
    its = tables.conversation(number)
    yield {"kind": "conversation", "id": its.id, "session": its.session, "agent": its.agent}
    for line in (*_messages(tables, number), *_requests(tables, number)):
        yield {**line, "conversation": its.id}
    for sql, names in PARTS:
        for row in tables.each(sql, number):
            line = dict(zip(names, row, strict=True))
            yield {**{name: _json(value) for name, value in line.items()}, "conversation": its.id}


PARTS = (
    (
        "SELECT 'entry', number, at, gone, body FROM entries WHERE conversation = ? ORDER BY rowid",
        ("kind", "number", "at", "taken_back", "entry"),
    ),
    (
        "SELECT 'call', id, intended, duration_ns, result FROM calls WHERE conversation = ? ORDER BY rowid",
        ("kind", "id", "intended", "duration_ns", "result"),
    ),
    (
        "SELECT 'row', id, at, coalesce(state, 'waiting'), tries, receipt, outbound FROM outbox "
        "WHERE conversation = ? ORDER BY number",
        ("kind", "id", "at", "state", "tries", "receipt", "outbound"),
    ),
)


def _json(value: object) -> object:
    return Encoded(value) if isinstance(value, bytes) else value


def _messages(tables: Tables, conversation: int) -> Iterator[Line]:
    sql = (
        "SELECT number, kind, accepted_at, outcome, inbound FROM messages "
        "WHERE conversation = ? AND inbound IS NOT NULL ORDER BY number"
    )
    for number, kind, at, outcome, inbound in tables.all(sql, conversation):
        passages = tables.all("SELECT what, at, why FROM passages WHERE message = ? ORDER BY rowid", number)
        yield {
            **{"kind": "message", "id": id_of(number), "as": kind, "accepted_at": at, "outcome": outcome},
            "passages": [{"what": what, "at": at, **({"why": why} if why else {})} for what, at, why in passages],
            "inbound": Encoded(inbound),
        }


def _requests(tables: Tables, conversation: int) -> Iterator[Line]:
    sql = "SELECT id, at, state, why, request, votes FROM requests WHERE conversation = ? ORDER BY rowid"
    for id_, at, state, why, request, votes in tables.all(sql, conversation):
        line: Line = {"kind": "request", "id": id_, "at": at, "state": state, "why": why}
        yield {**line, "request": Encoded(request), "votes": [asdict(it) for it in decoded(Votes, 1, votes).votes]}
