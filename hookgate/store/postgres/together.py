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
    task: trio.lowlevel.Task
    came: outcome.Outcome[T] | None = None


class Together(Generic[V, T]):
    """`write` is one step: what comes of each of its values, or an error. It asks for the values once it has begun,
    and again where it begins again: by then there may be more. What the store does not take fails for all of them;
    any other error is that of one, and each is tried by itself."""

    def __init__(self, write: Callable[[Callable[[], Sequence[V]]], Awaitable[Sequence[T]]]) -> None:
        self._write = write
        self._waiting: list[_Asked[V, T]] = []
        self._writing = False

    async def ask(self, value: V) -> T:
        """Once it has begun it is waited for, and cancelled by nobody."""
        await trio.lowlevel.checkpoint_if_cancelled()
        asked = _Asked[V, T](value, trio.lowlevel.current_task())
        self._waiting.append(asked)
        if self._writing:
            # Until it is settled, or the first of those that wait.
            await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.FAILED)
        if asked.came is None:
            with trio.CancelScope(shield=True):
                await self._write_next(asked)
        assert asked.came is not None  # noqa: S101 - it is the first of those that are written
        return asked.came.unwrap()

    async def _write_next(self, first: _Asked[V, T]) -> None:
        self._writing = True
        group: list[_Asked[V, T]] = []
        try:
            await self._settle(group)
        finally:
            self._writing = bool(self._waiting)
            for it in (*group, *self._waiting[:1]):
                if it is not first:
                    trio.lowlevel.reschedule(it.task)

    async def _settle(self, group: list[_Asked[V, T]]) -> None:
        try:
            came = await self._write(lambda: self._taken(group))
        except Exception as error:
            values = self._taken(group)
            if isinstance(error, StoreFailed) or len(values) == 1:
                came_of_each = [outcome.Error(error) for _ in values]
            else:
                came_of_each = [await outcome.acapture(self._alone, value) for value in values]
        else:
            came_of_each = [outcome.Value(one) for one in came]
        for it, one in zip(group, came_of_each, strict=True):
            it.came = one

    async def _alone(self, value: V) -> T:
        [came] = await self._write(lambda: [value])
        return came

    def _taken(self, group: list[_Asked[V, T]]) -> Sequence[V]:
        more = MOST - len(group)
        group += self._waiting[:more]
        del self._waiting[:more]
        return [it.value for it in group]
