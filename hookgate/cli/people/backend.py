"""Who is known, and with which keys: asked of the running gateway, or done in the journal's file where none runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

from hookgate import config as configuration
from hookgate.assembly.hooks.opening import listed, people
from hookgate.channels.http.keys import Keys
from hookgate.cli.journal.file import journal_of
from hookgate.cli.journal.place import JournalChoice
from hookgate.cli.running import PEOPLE, ours
from hookgate.control.client import call, read_rows
from hookgate.control.gateway import key_methods, people_methods
from hookgate.loop.doors.guests import Guests
from hookgate.operations.keys import KeyRing
from hookgate.operations.refused import OperationRefused
from hookgate.program.signals import run_interruptibly
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.values import Json
from hookgate.store.memory import MemoryJournal
from hookgate.store.places import is_there, open_journal_at

CODES, KEYS = "people.codes", "keys.list"
LOOKS = (PEOPLE, CODES, KEYS)
T = TypeVar("T")


class Backend:
    """The gateway of this configuration, or where none runs its journal. Each call raises ConfigError, ControlFailed,
    StoreFailed, and OperationRefused where nothing was changed. `looks`: what it must be able to answer."""

    def __init__(self, config_file: Path | None, control: Path | None, looks: str) -> None:
        self._config_file = config_file
        self._path = ours(config_file, control, looks)

    def rows(self, shape: type[T], method: str, **params: Json) -> tuple[T, ...]:
        return read_rows(shape, self.answer(method, params))

    def answer(self, method: str, params: Mapping[str, Json]) -> Json:
        if self._path is not None:
            return call(self._path, method, params)
        answer = run_interruptibly(_in_file, self._config_file, method, params)
        if isinstance(answer, OperationRefused):
            raise answer
        # Through JSON here too, so that both are one shape.
        return decode(encode(answer))


async def _in_file(config_file: Path | None, method: str, params: Mapping[str, Json]) -> object:
    """By the same operations as in a gateway."""
    config, _file = configuration.load(config_file)
    file = journal_of(JournalChoice(config_file))
    # Where nothing has been stored yet, who only looks makes none.
    stored = method not in LOOKS or is_there(file)
    async with open_journal_at(file) if stored else nullcontext(MemoryJournal()) as journal:
        guests, keys = Guests(journal, people(config), listed(config)), Keys(journal)
        await guests.load()
        await keys.load()
        methods = {**people_methods(guests), **key_methods(KeyRing(keys, guests, config.keyed))}
        try:
            return await methods[method].call(**params)
        except OperationRefused as error:
            return error
