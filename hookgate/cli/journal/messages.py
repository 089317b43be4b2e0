"""`hookgate where`: where a message is, read from the file beside whoever works on it; what it waits for, a gateway
that runs knows best."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hookgate import config as configuration
from hookgate.channels.printable import printable
from hookgate.cli.journal.file import journal_of, kept_by_name
from hookgate.cli.journal.place import JournalChoice
from hookgate.cli.printing import counted, failed, moment, say, say_json, table
from hookgate.cli.running import Running, looked_at, others, unasked
from hookgate.config import ConfigError
from hookgate.control.client import ControlFailed, NothingRunning, call, read_rows
from hookgate.operations.journal.messages import whole_id
from hookgate.program.endings import FAILED
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values import Json
from hookgate.store.places import JournalPlace, address_of, is_there, open_look_at, place_of

if TYPE_CHECKING:
    from hookgate.protocol.journal.upkeep import FoundMessage
    from hookgate.protocol.journal.views import Whereabouts
    from hookgate.store.journal.tables import Tables

METHOD, LIVE = "journal.find", "journal.where"
"""The first is answered where there is a journal that outlives the process, the second everywhere."""
ELSEWHERE = (
    "is not there: no gateway has stored anything yet. Conversations that are kept by name are looked through with "
    "--session NAME; `hookgate sessions list` has the names"
)
TEXT = 60
MOST = 20
"""Of messages that were not named by their ids, the newest."""


@dataclass(frozen=True)
class _Looked:
    """What a journal holds. `by_words`: those that were not named by their ids."""

    journal: JournalPlace
    found: tuple[Whereabouts, ...]
    by_words: Mapping[str, FoundMessage]


def show_messages(words: str, place: JournalChoice, control: Path | None, *, as_json: bool) -> int:
    """Raises ConfigError and StoreFailed, and NothingRunning where `control` was named and nobody listens."""
    gateway = None if place.session else _gateway(place, control)
    beside = () if control or place.session else tuple(_beside(words, place, gateway))
    if not (gateway or beside or place.session or _is_configured(place)):
        raise NothingRunning(NO_GATEWAY)
    others_too = bool(words) and not (control or place.session or beside)
    try:
        looked = _look(words, place, gateway)
    except StoreFailed as error:
        if beside:
            return _show(beside, place, as_json=as_json)
        if others_too and (found := _elsewhere(words, place, gateway)) is not None:
            return failed(f"{error}; {_asking(found[0], words)}")
        raise
    if others_too and not looked.found and (found := _elsewhere(words, place, gateway)) is not None:
        if _is_configured(place):
            return failed(f"{looked.journal} holds no message {words}; {_asking(found[0], words)}")
        gateway, looked = found
    if gateway is not None:
        gateway.tell()
    _show(((gateway, looked), *beside), place, as_json=as_json)
    if not words and gateway is not None and gateway.strange:
        for it in others(place.config_file, gateway, METHOD):
            sys.stderr.write(f"note: {_asking(it, words)}\n")
    found = looked.found or beside
    if not found and words:
        failed(f"{looked.journal} holds no message {words}")
    elif not found and not as_json:
        say("nothing is unfinished")
    return FAILED if words and not found else 0


def _is_configured(place: JournalChoice) -> bool:
    return place.config_file is not None or Path(configuration.FILE_NAME).exists()


def _asking(other: Running, words: str) -> str:
    """How its messages are asked for."""
    asked = shlex.join(["hookgate", "where", *([words] if words else []), "--control", str(other.path)])
    return f"another gateway {'has it' if words else 'runs'}{other.whose}: {asked}"


def _elsewhere(words: str, place: JournalChoice, gateway: Running | None) -> tuple[Running, _Looked] | None:
    """Another gateway that runs here and has it. One whose journal cannot be read has nothing."""
    for it in others(place.config_file, gateway, METHOD):
        with suppress(StoreFailed, ConfigError):
            if it.journal and (looked := _look(words, place, it)).found:
                return it, looked
    return None


def _beside(words: str, place: JournalChoice, gateway: Running | None) -> Iterator[tuple[Running, _Looked]]:
    """What chats and the like of this configuration or workspace have, which keep a journal of their own, or none."""
    for it in others(place.config_file, gateway, LIVE):
        with suppress(StoreFailed, ConfigError, NothingRunning):
            if not it.strange and (looked := _look(words, place, it)).found:
                yield it, looked


def _look(words: str, place: JournalChoice, gateway: Running | None) -> _Looked:
    from hookgate.store.journal.operators.whereabouts import find_messages

    if gateway is not None and LIVE in gateway.looks and not gateway.journal:
        return _Looked(gateway.path, _unkept(words, gateway), {})
    file = place_of(gateway.journal) if gateway is not None and gateway.journal else journal_of(place)
    if not (words or place.session or is_there(file)):
        return _Looked(file, (), {})
    if not (place.session or is_there(file)) and kept_by_name(place):
        raise StoreFailed(f"{file} {ELSEWHERE}")
    ids = _ids(words, place, gateway)
    with open_look_at(file) as tables:
        found = find_messages(tables, whole_id(words))
        if found or not words:
            return _Looked(file, tuple(found), {})
        told = {it.whereabouts.message: it for it in _by_words(tables, words, ids)}
    return _Looked(file, tuple(it.whereabouts for it in told.values()), told)


def _unkept(words: str, gateway: Running) -> tuple[Whereabouts, ...]:
    """Messages of one that keeps nothing, as it says itself: by their ids, else what is unfinished with these words
    in it."""
    known = _asked(gateway, whole_id(words))
    return known or tuple(it for it in _asked(gateway, "") if words in f"{it.text} {it.conversation.id}")


def _asked(gateway: Running, message: str) -> tuple[Whereabouts, ...]:
    # That it has no such message is a refusal.
    with suppress(ControlFailed):
        answer = call(gateway.path, LIVE, {"message": message})
        return tuple(map(_whereabouts, cast("list[dict[str, Json]]", answer)))
    return ()


def _whereabouts(row: dict[str, Json]) -> Whereabouts:
    """Of its members in JSON. Raises ControlFailed."""
    from hookgate.protocol.journal.values import Conversation
    from hookgate.protocol.journal.views import Passage, Whereabouts

    [it], [conversation] = read_rows(Whereabouts, [row]), read_rows(Conversation, [row["conversation"]])
    return replace(it, conversation=conversation, passages=read_rows(Passage, row["passages"]))


def _show(looks: Iterable[tuple[Running | None, _Looked]], place: JournalChoice, *, as_json: bool) -> int:
    rows = list[dict[str, object]]()
    for gateway, looked in looks:
        stored = {id_: _leaving(it) for id_, it in looked.by_words.items()}
        waits = {**stored, **_live(gateway, [it.message for it in looked.found])}
        if not as_json:
            _say(looked, waits, place, gateway)
        shapes = ({**asdict(it), "conversation": it.conversation.id} for it in looked.found)
        rows += [{**row, "waits_for": waits.get(str(row["message"]), "")} for row in shapes]
    return say_json(rows) if as_json else 0


def _say(looked: _Looked, waits: Mapping[str, str], place: JournalChoice, gateway: Running | None) -> None:
    found = looked.found
    silent = unasked(place.config_file) if gateway is None and not place.session else ""
    alone = gateway is None and not place.session and not silent
    if gateway is None and not place.session and any(it.state in UNFINISHED for it in found):
        say(printable(silent[:1].upper() + silent[1:] if silent else NONE_RUNS))
    for it in found:
        whole = not looked.by_words or len(found) == 1
        for line in _lines(it, waits.get(it.message, ""), whole=whole, alone=alone):
            say(printable(line))


def _ids(words: str, place: JournalChoice, gateway: Running | None) -> Sequence[str]:
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


def _gateway(place: JournalChoice, control: Path | None) -> Running | None:
    """The one that works on the configuration's journal, or another's where there is no configuration here; None:
    none runs. Raises NothingRunning where it was named and nobody listens."""
    try:
        found = looked_at(place.config_file, control, LIVE if control is not None else METHOD)
    except NothingRunning:
        if control is not None:
            raise
        return None
    if control is not None or found.strange:
        return found
    ours, journal = (found, *others(place.config_file, found, METHOD)), address_of(journal_of(place))
    return next((it for it in ours if not it.strange and it.journal == journal), None)


def _live(gateway: Running | None, messages: Sequence[str]) -> Mapping[str, str]:
    """By message, what it waits for, as the gateway says it that has them, in words that follow "waits"."""
    from hookgate.operations.journal.finding import Located

    waits = dict[str, str]()
    if gateway is None:
        return waits
    with suppress(NothingRunning, ControlFailed):
        for message in messages[:MOST]:
            rows = read_rows(Located, call(gateway.path, METHOD, {"words": message}))
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
NO_GATEWAY = (
    "no gateway that can be asked runs here as this user, and there is no hookgate.toml in this folder: "
    "--config FILE names that of the gateway which has the message"
)
WAITS = {"waiting": "for a person"}
"""What the file alone says of it."""
