"""What many tasks ask for while one step is under way becomes the next one. Knows no statement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import outcome
import trio

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
    """`write` is one step: what comes of each of its values, or an error of all."""

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
                    await self._next()
        assert asked.came is not None  # noqa: S101 - whoever has the turn is among the next
        return asked.came.unwrap()

    async def _next(self) -> None:
        group, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
        came = await outcome.acapture(self._write, [it.value for it in group])
        if isinstance(came, outcome.Error):
            for it in group:
                it.came = came
        else:
            for it, one in zip(group, came.value, strict=True):
                it.came = outcome.Value(one)
