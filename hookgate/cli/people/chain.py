"""`hookgate audit`: the chain of records is checked, and written out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hookgate.cli.journal.file import journal_of, write_lines
from hookgate.cli.journal.place import Place
from hookgate.cli.printing import counted, failed, say
from hookgate.store.journal.audit.anchors import State, checkpoints, verify
from hookgate.store.journal.audit.chain import Link, links
from hookgate.store.places import JournalPlace, beside, open_look_at

STATUS: Mapping[State, int] = {"anchored": 0, "broken": 1, "unanchored": 2, "truncated": 3}
"""Of the command, for scripts."""


def verify_chain(place: Place) -> int:
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


def export_chain(place: Place) -> int:
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
