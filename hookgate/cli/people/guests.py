"""`hookgate people`: who is known is listed and changed, in a running gateway or in the journal's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import trio

from hookgate import config as configuration
from hookgate.assembly.hooks.opening import listed, people
from hookgate.channels.printable import printable
from hookgate.cli.journal.file import journal_of
from hookgate.cli.journal.place import Place
from hookgate.cli.printing import failed, moment, say, say_json, table
from hookgate.cli.running import ours
from hookgate.control.client import call, read_rows
from hookgate.control.gateway import people_methods
from hookgate.loop.doors.guests import Guests, Known
from hookgate.operations.people import OpenCode
from hookgate.operations.refused import OperationRefused
from hookgate.program.endings import FAILED
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.values import Json
from hookgate.store.journal import open_journal
from hookgate.store.memory import MemoryJournal

LIST, CODES = "people.list", "people.codes"
LOOKS = (LIST, CODES)
T = TypeVar("T")


class Asked:
    """The gateway of this configuration, or where none runs its journal. Each call raises ConfigError, ControlFailed,
    StoreFailed, and OperationRefused where nothing was changed."""

    def __init__(self, config_file: Path | None, control: Path | None) -> None:
        self._config_file = config_file
        self._path = ours(config_file, control, LIST)

    def rows(self, shape: type[T], method: str) -> tuple[T, ...]:
        return read_rows(shape, self._answer(method, {}))

    def change(self, method: str, params: Mapping[str, Json]) -> Known | None:
        """The person as they are known now; None: not any more."""
        answer = self._answer(method, params)
        return None if answer is True else read_rows(Known, [answer])[0]

    def _answer(self, method: str, params: Mapping[str, Json]) -> Json:
        if self._path is not None:
            return call(self._path, method, params)
        answer = trio.run(_in_file, self._config_file, method, params)
        if isinstance(answer, OperationRefused):
            raise answer
        # Through JSON here too, so that both are one shape.
        return decode(encode(answer))


async def _in_file(config_file: Path | None, method: str, params: Mapping[str, Json]) -> object:
    """By the same operations as in a gateway."""
    config, _file = configuration.load(config_file)
    file = journal_of(Place(config_file))
    # Where nothing has been stored yet, who only looks makes none.
    stored = method not in LOOKS or await trio.Path(file).exists()
    async with open_journal(file) if stored else nullcontext(MemoryJournal()) as journal:
        guests = Guests(journal, people(config), listed(config))
        await guests.load()
        try:
            return await people_methods(guests)[method].call(**params)
        except OperationRefused as error:
            return error


def list_people(config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    asked = Asked(config_file, control)
    known, codes = asked.rows(Known, LIST), asked.rows(OpenCode, CODES)
    if as_json:
        return say_json({"people": [asdict(it) for it in known], "codes": [asdict(it) for it in codes]})
    for line in table([*map(_row, known), *_waiting(codes)]) or ["nobody is known"]:
        say(printable(line))
    return 0


def _row(it: Known) -> tuple[str, ...]:
    since = f"let in by {it.by}, {moment(it.at)}" if it.by else "by the configuration"
    shadowed = "" if it.counts else "; does not count: the configuration names somebody else so"
    return it.name, " ".join(it.ids), " ".join(it.roles), f"{since}{shadowed}"


def _waiting(codes: Sequence[OpenCode]) -> Iterator[tuple[str, ...]]:
    for it in codes:
        yield "?", it.sender, "", f"waits with the code {it.code}, until {moment(it.until)}"


def change_people(config_file: Path | None, control: Path | None, method: str, params: Mapping[str, Json]) -> int:
    try:
        person = Asked(config_file, control).change(method, params)
    except OperationRefused as error:
        failed(str(error))
        return FAILED
    if person is None:
        say(printable(f"{params['name']} is not known any more"))
    else:
        say(printable(f"{person.name}: {' '.join(person.ids)}, roles: {' '.join(person.roles) or '(none)'}"))
    return 0
