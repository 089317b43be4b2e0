"""`hookgate audit`: the chain of records is listed, checked, and written out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from hookgate.cli.journal.file import journal_of, write_lines
from hookgate.cli.journal.place import JournalChoice
from hookgate.cli.printing import counted, failed, moment, say, say_json, table, width_shown
from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.store.journal.audit.anchors import State, checkpoints, verify
from hookgate.store.journal.audit.chain import Link, links
from hookgate.store.places import JournalPlace, beside, is_there, open_look_at

STATUS: Mapping[State, int] = {"anchored": 0, "broken": 1, "unanchored": 2, "truncated": 3}
"""Of the command, for scripts."""

TOLD = (
    *("tool", "outcome", "state", "denied_by", "error", "did", "about", "name", "person", "by", "actor"),
    *("session", "channel", "letter", "message", "request", "grant", "call"),
)
"""What a line tells of a record, in this order."""
COLUMNS = ("number", "at", "what", "about")
Record = dict[str, Any]
"""A record with what stands beside it."""


def list_chain(place: JournalChoice, last: int, *, as_json: bool) -> int:
    """The last of its records, the newest first. Raises ConfigError and StoreFailed, as all do."""
    file = journal_of(place)
    records = _last(file, last) if place.session or is_there(file) else []
    if as_json:
        return say_json(records)
    lines = table(map(_told, records), width_shown(), COLUMNS, headed=False)
    for line in lines or [f"nothing is recorded in {file}"]:
        say(line)
    return 0


def _last(file: JournalPlace, count: int) -> list[Record]:
    with open_look_at(file) as tables:
        [newest] = tables.one("SELECT max(number) FROM audit") or (0,)
        return [*map(_record, links(tables, (newest or 0) - count))][::-1]


def _record(link: Link) -> Record:
    texts: Record = {name: text.decode("utf-8", "replace") for name, (_salt, text) in link.texts.items()}
    try:
        if "details" in texts:
            texts["details"] = decode(link.texts["details"][1])
        return decode(link.body) | texts
    except BadMessage:
        # Somebody has changed it, as `verify` says.
        return {"n": link.number, "at": 0.0, "kind": "unreadable"}


def _told(record: Record) -> tuple[str, str, str, str]:
    known = cast("Record", record.get("details", {})) | record
    about = (f"{name} {known[name]}" for name in TOLD if isinstance(known.get(name), str) and known[name])
    return str(record["n"]), moment(record["at"]), record["kind"], ", ".join(about)


def verify_chain(place: JournalChoice) -> int:
    """The exit status. Raises ConfigError and StoreFailed, as all do."""
    file = journal_of(place)
    with open_look_at(file) as tables:
        verdict = verify(beside(file), tables)
    records, tail = counted(verdict.records, "record"), verdict.records - verdict.anchored
    match verdict.state:
        case "anchored":
            say(f"intact and anchored: {records}, all of them under a signed checkpoint")
        case "unanchored":
            say(f"intact, but unanchored: {records}, and the last {tail} are under no signed checkpoint")
            say("A hookgate that runs signs what is new within seconds, and all of it when it stops: ask again then.")
        case "broken" | "truncated":
            failed(f"{verdict.state}: {verdict.why}")
    return STATUS[verdict.state]


def export_chain(place: JournalChoice) -> int:
    write_lines(lines_of(journal_of(place)))
    return 0


def lines_of(file: JournalPlace) -> Iterator[dict[str, object]]:
    """Record by record, then the checkpoints."""
    with open_look_at(file) as tables:
        yield from map(_line, links(tables))
    yield from checkpoints(beside(file))


def _line(link: Link) -> dict[str, object]:
    texts = {name: {"salt": salt.hex(), "text": text.hex()} for name, (salt, text) in link.texts.items()}
    return {"n": link.number, "body": link.body.decode(), "hash": link.hash.hex(), "texts": texts}
