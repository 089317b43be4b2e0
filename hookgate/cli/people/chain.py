"""`hookgate audit`: the chain of records is checked, and written out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hookgate.cli.journal.commands import Place
from hookgate.cli.journal.file import journal_of, write_lines
from hookgate.cli.printing import counted, failed, say
from hookgate.program.endings import FAILED
from hookgate.store.journal.audit.anchors import checkpoints, verify
from hookgate.store.journal.audit.chain import Link, links
from hookgate.store.journal.operators.looking import open_look


def verify_chain(place: Place) -> int:
    """Raises ConfigError and StoreFailed, as all do."""
    file = journal_of(place)
    with open_look(file) as tables:
        verdict = verify(file, tables)
    records = counted(verdict.records, "record")
    match verdict.state:
        case "anchored":
            say(f"intact and anchored: {records}, {verdict.anchored} of them under a signed checkpoint")
        case "unanchored":
            say(f"intact, but unanchored: {records}, none of them under a signed checkpoint")
        case "broken" | "truncated":
            failed(f"{verdict.state}: {verdict.why}")
            return FAILED
    return 0


def export_chain(place: Place) -> int:
    write_lines(lines_of(journal_of(place)))
    return 0


def lines_of(file: Path) -> Iterator[dict[str, object]]:
    """Record by record, then the checkpoints."""
    with open_look(file) as tables:
        yield from map(_line, links(tables))
    yield from checkpoints(file)


def _line(link: Link) -> dict[str, object]:
    texts = {name: {"salt": salt.hex(), "text": text.hex()} for name, (salt, text) in link.texts.items()}
    return {"n": link.number, "body": link.body.decode(), "hash": link.hash.hex(), "texts": texts}
