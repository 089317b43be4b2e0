"""`hookgate where`: where a message is, read from the file beside whoever works on it; what it waits for, a gateway
that runs knows best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from hookgate import config as configuration
from hookgate.channels.printable import printable
from hookgate.cli.journal.file import journal_of
from hookgate.cli.journal.place import Place
from hookgate.cli.printing import counted, failed, moment, say, say_json, table
from hookgate.operations.journal.messages import whole_id
from hookgate.program.endings import FAILED

if TYPE_CHECKING:
    from hookgate.protocol.journal.upkeep import FoundMessage
    from hookgate.protocol.journal.views import Whereabouts
    from hookgate.store.journal.tables import Tables

TEXT = 60
MOST = 20
"""Of messages that were not named by their ids, the newest."""


def show_messages(words: str, place: Place, *, as_json: bool) -> int:
    """Raises ConfigError and StoreFailed."""
    from hookgate.store.journal.operators.looking import open_look
    from hookgate.store.journal.operators.whereabouts import find_messages

    file = journal_of(place)
    told: dict[str, FoundMessage] = {}
    with open_look(file) as tables:
        found = find_messages(tables, whole_id(words))
        if words and not found:
            told = {it.whereabouts.message: it for it in _by_words(tables, words, place)}
            found = tuple(it.whereabouts for it in told.values())
    stored = {id_: _leaving(it) for id_, it in told.items()}
    waits = {**stored, **_live(place, [it.message for it in found])}
    if as_json:
        rows = ({**asdict(it), "conversation": it.conversation.id} for it in found)
        say_json([{**row, "waits_for": waits.get(str(row["message"]), "")} for row in rows])
    for it in () if as_json else found:
        for line in _lines(it, waits.get(it.message, ""), whole=not told or len(found) == 1):
            say(printable(line))
    if not found and words:
        failed(f"{file} holds no message {words}")
    elif not found and not as_json:
        say("nothing is unfinished")
    return FAILED if words and not found else 0


def _by_words(tables: Tables, words: str, place: Place) -> Iterator[FoundMessage]:
    """Of a person of the configuration what they said under any of their ids."""
    from hookgate.store.journal.operators.upkeep import find_by_words

    person = configuration.load(place.config_file)[0].people.get(words)
    ids = [it.rpartition(":")[2] for it in person.ids] if person is not None else []
    for it in (words, *ids):
        yield from find_by_words(tables, it, MOST)


def _live(place: Place, messages: Sequence[str]) -> Mapping[str, str]:
    """By message, what it waits for, as the gateway says it that has them, in words that follow "waits"."""
    from hookgate.cli.running import ours
    from hookgate.control.client import ControlFailed, NothingRunning, call, read_rows

    waits = dict[str, str]()
    try:
        socket = None if place.session else ours(place.config_file, None, "journal.find")
        if socket is not None:
            from hookgate.operations.journal.finding import Located

            for message in messages[:MOST]:
                rows = read_rows(Located, call(socket, "journal.find", {"words": message}))
                waits |= {it.message: it.waits_for for it in rows if it.message == message}
    except (NothingRunning, ControlFailed):
        pass
    return waits


def _leaving(it: FoundMessage) -> str:
    if it.leaving is None or not it.leaving.tries:
        return ""
    return f"to be sent again, which has failed {counted(it.leaving.tries, 'time')}: {it.leaving.why}"


def _lines(it: Whereabouts, waits: str, *, whole: bool) -> Iterator[str]:
    """`whole`: with the way that it came."""
    text, state = " ".join(it.text.split()), STATES.get(it.state, it.state)
    known = (
        f": {it.why}"
        if it.why
        else f", and waits {waits}"
        if waits
        else f", and waits {WAITS[it.state]}"
        if it.state in WAITS
        else ""
    )
    yield f"{it.message} in {it.conversation.id} is {state}{known}: {text[:TEXT]}"
    rows = ((moment(row.at), f"{row.what}: {row.why}" if row.why else row.what) for row in it.passages)
    yield from (f"  {line}" for line in table(rows if whole else ()))


STATES = {"waiting": "held up", "sending": "on its way to the chat", "dead": "given up"}
WAITS = {"waiting": "for a person"}
"""What the file alone says of it."""
