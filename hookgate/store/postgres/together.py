"""What many tasks ask for while one step is under way becomes the next one. Knows no statement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import outcome
import trio

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass

T = TypeVar("T")
V = TypeVar("V")

MOST = 64
"""Of values in one step."""


@dataclass(eq=False)
class _Asked(Generic[V, T]):
    value: V
    came: outcome.Outcome[T] | None = None


class Together(Generic[V, T]):
    """`write` is one step: what comes of each of its values, or an error. What the store does not take fails for all
    of them; any other error is that of one, and each is tried by itself."""

    def __init__(self, write: Callable[[Sequence[V]], Awaitable[Sequence[T]]]) -> None:
        self._write = write
        self._waiting: list[_Asked[V, T]] = []
        self._turn = trio.Lock()

    async def ask(self, value: V) -> T:
        """Once it has begun it is waited for, and cancelled by nobody."""
        await trio.lowlevel.checkpoint_if_cancelled()
        asked = _Asked[V, T](value)
        self._waiting.append(asked)
        with trio.CancelScope(shield=True):
            async with self._turn:
                if asked.came is None:
                    group, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                    await self._settle(group)
        assert asked.came is not None  # noqa: S101 - whoever has the turn is among the next
        return asked.came.unwrap()

    async def _settle(self, group: Sequence[_Asked[V, T]]) -> None:
        try:
            came = await self._write([it.value for it in group])
        except Exception as error:
            if len(group) > 1 and not isinstance(error, StoreFailed):
                for it in group:
                    await self._settle([it])
                return
            for it in group:
                it.came = outcome.Error(error)
        else:
            for it, one in zip(group, came, strict=True):
                it.came = outcome.Value(one)
