"""An Engine for a file: writes through its one writer, reads beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from hookgate.store.journal.engine.clock import Clock
from hookgate.store.journal.engine.readers import Readers
from hookgate.store.journal.engine.writer import Writer
from hookgate.store.journal.tables import Tables

T = TypeVar("T")
V = TypeVar("V")


class FileEngine:
    def __init__(self, writer: Writer[Tables], readers: Readers, clock: Clock) -> None:
        self._writer, self._readers, self._clock = writer, readers, clock

    async def write(self, act: Callable[[Tables], T], *, barrier: bool = False) -> T:
        """Raises what `act` raises before it changes anything, and StoreFailed."""
        return await self._writer.call(act, barrier=barrier)

    def together(self, act: Callable[[Tables, Sequence[V]], Sequence[T]]) -> Callable[[V], Awaitable[T]]:
        return lambda value: self.write(lambda tables: act(tables, [value])[0], barrier=True)

    async def read(self, act: Callable[[Tables], T]) -> T:
        """Raises StoreFailed."""
        return await self._readers.call(lambda connection: act(Tables(connection, self._clock)))

    async def changed(self) -> None:
        await self._writer.changed()
