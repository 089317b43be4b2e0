"""`hookgate sessions`: stored conversations, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hookgate.channels.printable import printable
from hookgate.cli.journal.file import journal_of, kept_by_name, write_lines
from hookgate.cli.journal.place import JournalChoice
from hookgate.cli.printing import complain, counted, say, say_json, table, width_shown
from hookgate.program.endings import FAILED
from hookgate.protocol.catalog import StoreFailed
from hookgate.store.places import JournalPlace, is_there, open_journal_at, open_look_at

if TYPE_CHECKING:
    from hookgate.protocol.journal.values import Conversation, Entry
    from hookgate.protocol.journal.views import SessionRow

NAMED = "`hookgate sessions list` has those that are"


COLUMNS = ("conversation", "last", "holds")


def list_sessions(place: JournalChoice, *, as_json: bool) -> int:
    """Raises ConfigError and StoreFailed, as all do."""
    places = [(place.session, journal_of(place)), *(() if place.session else kept_by_name(place))]
    found = [(name, row) for name, file in places for row in _rows(file, named=bool(place.session))]
    rows = sorted(found, key=lambda it: it[1].last_at, reverse=True)
    if as_json:
        return say_json([{"id": row.conversation.id, **asdict(row), "kept_as": name} for name, row in rows])
    newest = _newest(rows)
    listed = (_listed(name, row, goes_on=(name, row.conversation) in newest) for name, row in rows)
    lines = table(listed, width_shown(), COLUMNS, headed=False)
    for line in lines or [f"no conversation is stored in {places[0][1]}"]:
        say(line)
    return 0


def _rows(file: JournalPlace, *, named: bool) -> tuple[SessionRow, ...]:
    """`named`: it has to be there. Else the first start makes it."""
    from hookgate.store.journal.operators.listing import read_sessions

    if not named and not is_there(file):
        return ()
    with open_look_at(file) as tables:
        return read_sessions(tables)


def _newest(rows: Iterable[tuple[str, SessionRow]]) -> set[tuple[str, Conversation]]:
    """Those that whoever names what they are kept by goes on with: none that began before another one there."""
    newest: dict[tuple[str, str, str], tuple[str, Conversation]] = {}
    for name, row in sorted(rows, key=lambda it: it[1].conversation.generation):
        newest[name, row.conversation.session, row.conversation.agent] = name, row.conversation
    return {*newest.values()}


def _listed(kept_as: str, row: SessionRow, *, goes_on: bool) -> tuple[str, str, str]:
    unfinished = f", {row.unfinished} unfinished" if row.unfinished else ""
    kept = f" ({_goes_on(kept_as) if goes_on else f'{kept_as}, before the last /new'})" if kept_as else ""
    return row.conversation.id, _when(row.last_at), f"{counted(row.entries, 'message')}{unfinished}{kept}"


def _goes_on(kept_as: str) -> str:
    """What is typed to go on with it."""
    channel, _, name = kept_as.rpartition("/")
    return f"hookgate {channel or 'chat'} --session {name}"


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%MZ")


def _found(id_: str, place: JournalChoice, *, newest: bool = True) -> tuple[JournalPlace, str]:
    """The journal that holds it, and its id there: the journal of `place`; without a name the gateway's, or one that
    is kept by name, which is found by that too. Raises StoreFailed where that says not which it is; `newest`: of
    several of one name it is the last."""
    own = journal_of(place)
    if place.session or _holds(own, id_):
        return own, id_
    kept = kept_by_name(place)
    by_name = [it for it in kept if it[0] == id_] or [it for it in kept if it[1].stem == id_]
    found = by_name or [it for it in kept if _holds(it[1], id_)]
    if len(found) > 1:
        names = ", ".join(name for name, _file in found)
        raise StoreFailed(f"{id_} is kept by several names: add --session NAME, one of {names}")
    if kept and not found and not is_there(own):
        raise StoreFailed(f"no conversation {id_} is stored, and none is kept by that name: {NAMED}")
    [(name, file)] = found or [("", own)]
    return file, _of_name(name, file, newest=newest) if by_name else id_


def _of_name(name: str, file: JournalPlace, *, newest: bool) -> str:
    """The id of the conversation that is kept there; a line tells of those before it."""
    rows = sorted(_rows(file, named=True), key=lambda it: (it.last_at, it.conversation.generation))
    if not rows:
        raise StoreFailed(f"{name} holds no conversation")
    *before, last = (row.conversation.id for row in rows)
    if before and not newest:
        raise StoreFailed(f"{name} holds several: say which, ID --session {name}: {', '.join((*before, last))}")
    if before:
        shown = f"'hookgate sessions show ID --session {name}'"
        complain(f"this is {last}, the newest of {name}; {shown} shows one before it: {', '.join(before)}")
    return last


def _holds(file: JournalPlace, id_: str) -> bool:
    """As it is listed. Where the file cannot be read, whoever opens it says so."""
    with suppress(StoreFailed):
        return any(row.conversation.id == id_ for row in _rows(file, named=False))
    return False


def show_session(id_: str, place: JournalChoice) -> int:
    from hookgate.store.journal.operators.looking import conversation_of
    from hookgate.store.journal.transcripts import first_entries, read_entries

    file, id_ = _found(id_, place)
    with open_look_at(file) as tables:
        number, _conversation = conversation_of(tables, id_)
        entries, _upto = read_entries(tables, number)
        messages = first_entries(tables, number)
    for entry in entries:
        for line in _shown(entry, messages.get(entry.number, "")):
            say(printable(line))
    return 0


def _shown(entry: Entry, id_: str) -> Iterator[str]:
    """`id_`: of the person's message that it is."""
    message = entry.message
    role = "summary" if entry.upto else message.role
    first, *more = message.content.split("\n")
    yield f"{entry.number} {role}{' ' + id_ if id_ else ''}: {first}"
    yield from (f"    {line}" for line in more)
    yield from (f"    calls {call.name} {call.arguments}" for call in message.tool_calls)
    yield from (f"    with {url[:80]}" for url in message.media)


def export_session(id_: str, place: JournalChoice) -> int:
    from hookgate.store.journal.operators.looking import conversation_of, exported_conversation

    file, id_ = _found(id_, place)
    with open_look_at(file) as tables:
        write_lines(exported_conversation(tables, conversation_of(tables, id_)[0]))
    return 0


async def forget_session(id_: str, place: JournalChoice, *, yes: bool) -> int:
    from hookgate.channels.terminal.question import Part, Question, measured
    from hookgate.cli.agreeing import agreed, yes_or_no
    from hookgate.store.journal.operators.looking import conversation_of

    file, id_ = _found(id_, place, newest=False)
    with open_look_at(file) as tables:
        _number, conversation = conversation_of(tables, id_)
    id_ = conversation.id
    parts = (Part("conversation", printable(id_)),)
    question = Question("Forget this?", parts, (measured(id_, parts),), yes_or_no("forget it?"))
    if not (yes or await agreed(question)):
        return FAILED
    async with open_journal_at(file) as journal:
        await journal.books.forget(conversation)
    say(printable(f"forgot {id_}"))
    return 0
