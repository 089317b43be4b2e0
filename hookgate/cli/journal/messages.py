"""`hookgate where`: where a message is, read from the file beside whoever works on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from hookgate.channels.printable import printable
from hookgate.cli.journal.file import journal_of
from hookgate.cli.journal.place import Place
from hookgate.cli.printing import failed, moment, say, say_json, table
from hookgate.operations.messages import whole_id
from hookgate.program.endings import FAILED

if TYPE_CHECKING:
    from hookgate.protocol.journal.views import Whereabouts

TEXT = 60


def show_messages(message: str, place: Place, *, as_json: bool) -> int:
    """Raises ConfigError and StoreFailed."""
    from hookgate.store.journal.operators.looking import open_look
    from hookgate.store.journal.operators.whereabouts import find_messages

    file = journal_of(place)
    with open_look(file) as tables:
        found = find_messages(tables, whole_id(message))
    if as_json:
        say_json([{**asdict(it), "conversation": it.conversation.id} for it in found])
    for it in () if as_json else found:
        for line in _lines(it):
            say(printable(line))
    if not found and message:
        failed(f"{file} holds no message {message}")
    elif not found and not as_json:
        say("nothing is unfinished")
    return FAILED if message and not found else 0


def _lines(it: Whereabouts) -> Iterator[str]:
    text = " ".join(it.text.split())
    yield f"{it.message} in {it.conversation.id} is {STATES.get(it.state, it.state)}: {text[:TEXT]}"
    rows = ((moment(row.at), f"{row.what}: {row.why}" if row.why else row.what) for row in it.passages)
    yield from (f"  {line}" for line in table(rows))


STATES = {"waiting": "waiting for a person", "sending": "on its way to the chat", "dead": "given up"}
