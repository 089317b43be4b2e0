"""How the parts of the journal reach what it is stored in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from hookgate.store.journal.tables import Tables

T = TypeVar("T")
V = TypeVar("V")


class Engine(Protocol):
    """`act` is a step: it is stored whole or not at all, and may be made again where it was not."""

    async def write(self, act: Callable[[Tables], T], *, barrier: bool = False) -> T:
        """Raises what `act` raises before it changes anything, and StoreFailed."""
        ...

    def together(self, act: Callable[[Tables, Sequence[V]], Sequence[T]]) -> Callable[[V], Awaitable[T]]:
        """As `write`, with a barrier, of a value: one step is made of those that wait for it by then."""
        ...

    async def read(self, act: Callable[[Tables], T]) -> T:
        """At one moment. Raises StoreFailed."""
        ...

    async def changed(self) -> None:
        """Until something may have been written: a hint."""
        ...
