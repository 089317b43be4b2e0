"""`hookgate where`: where a message is, read from the file beside whoever works on it; what it waits for, a gateway
that runs knows best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from hookgate import config as configuration
from hookgate.channels.printable import printable
from hookgate.cli.journal.file import journal_of
from hookgate.cli.journal.place import Place
from hookgate.cli.printing import counted, failed, moment, say, say_json, table
from hookgate.cli.running import Running, looked_at, unasked
from hookgate.control.client import ControlFailed, NothingRunning, call, read_rows
from hookgate.operations.journal.messages import whole_id
from hookgate.program.endings import FAILED
from hookgate.store.places import open_look_at, place_of

if TYPE_CHECKING:
    from hookgate.protocol.journal.upkeep import FoundMessage
    from hookgate.protocol.journal.views import Whereabouts
    from hookgate.store.journal.tables import Tables

TEXT = 60
MOST = 20
"""Of messages that were not named by their ids, the newest."""


def show_messages(words: str, place: Place, control: Path | None, *, as_json: bool) -> int:
    """Raises ConfigError and StoreFailed, and NothingRunning where `control` was named and nobody listens."""
    from hookgate.store.journal.operators.whereabouts import find_messages

    gateway = None if place.session else _gateway(place, control)
    file = place_of(gateway.journal) if gateway is not None and gateway.journal else journal_of(place)
    ids = _ids(words, place, gateway)
    told: dict[str, FoundMessage] = {}
    with open_look_at(file) as tables:
        found = find_messages(tables, whole_id(words))
        if words and not found:
            told = {it.whereabouts.message: it for it in _by_words(tables, words, ids)}
            found = tuple(it.whereabouts for it in told.values())
    stored = {id_: _leaving(it) for id_, it in told.items()}
    waits = {**stored, **_live(gateway, [it.message for it in found])}
    if as_json:
        rows = ({**asdict(it), "conversation": it.conversation.id} for it in found)
        say_json([{**row, "waits_for": waits.get(str(row["message"]), "")} for row in rows])
    silent = unasked(place.config_file) if gateway is None and not place.session else ""
    alone = gateway is None and not place.session and not silent
    if gateway is None and not place.session and not as_json and any(it.state in UNFINISHED for it in found):
        say(printable(silent[:1].upper() + silent[1:] if silent else NONE_RUNS))
    for it in () if as_json else found:
        for line in _lines(it, waits.get(it.message, ""), whole=not told or len(found) == 1, alone=alone):
            say(printable(line))
    if not found and words:
        failed(f"{file} holds no message {words}")
    elif not found and not as_json:
        say("nothing is unfinished")
    return FAILED if words and not found else 0


def _ids(words: str, place: Place, gateway: Running | None) -> Sequence[str]:
    """Those that a person of this name has in the configuration: the gateway's, where one runs."""
    file = Path(gateway.home.file) if gateway is not None and gateway.home.file else place.config_file
    if gateway is not None and file is not None and not file.exists():
        return ()
    person = configuration.load(file)[0].people.get(words)
    return [it.rpartition(":")[2] for it in person.ids] if person is not None else ()


def _by_words(tables: Tables, words: str, ids: Sequence[str]) -> Iterator[FoundMessage]:
    """Of a person what they said under any of these ids."""
    from hookgate.store.journal.operators.upkeep import find_by_words

    for it in (words, *ids):
        yield from find_by_words(tables, it, MOST)


def _gateway(place: Place, control: Path | None) -> Running | None:
    """None: none runs. Raises NothingRunning where it was named and nobody listens."""
    try:
        return looked_at(place.config_file, control, "journal.find")
    except NothingRunning:
        if control is not None:
            raise
        return None


def _live(gateway: Running | None, messages: Sequence[str]) -> Mapping[str, str]:
    """By message, what it waits for, as the gateway says it that has them, in words that follow "waits"."""
    from hookgate.operations.journal.finding import Located

    waits = dict[str, str]()
    if gateway is None:
        return waits
    with suppress(NothingRunning, ControlFailed):
        for message in messages[:MOST]:
            rows = read_rows(Located, call(gateway.path, "journal.find", {"words": message}))
            waits |= {it.message: it.waits_for for it in rows if it.message == message}
    return waits


def _leaving(it: FoundMessage) -> str:
    if it.leaving is None or not it.leaving.tries:
        return ""
    return f"to be sent again, which has failed {counted(it.leaving.tries, 'time')}: {it.leaving.why}"


def _lines(it: Whereabouts, waits: str, *, whole: bool, alone: bool) -> Iterator[str]:
    """`whole`: with the way that it came; `alone`: nobody works on it."""
    text, state = " ".join(it.text.split()), STATES.get(it.state, it.state)
    state = "begun" if alone and state == "running" else state
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
UNFINISHED = ("queued", "running", "waiting", "sending")
NONE_RUNS = "No gateway runs (none answers here): what is unfinished goes on with the next start."
WAITS = {"waiting": "for a person"}
"""What the file alone says of it."""
