"""How the parts of the journal reach what it is stored in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from hookgate.store.journal.tables import Tables

T = TypeVar("T")


class Engine(Protocol):
    """`act` is a step: it is stored whole or not at all, and may be made again where it was not."""

    async def write(self, act: Callable[[Tables], T], *, barrier: bool = False) -> T:
        """Raises what `act` raises before it changes anything, and StoreFailed."""
        ...

    async def read(self, act: Callable[[Tables], T]) -> T:
        """At one moment. Raises StoreFailed."""
        ...

    async def changed(self) -> None:
        """Until something may have been written: a hint."""
        ...
