"""A value that one task waits for and another one sets, once: trio.Event's price without its parking lot."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Generic, TypeVar

import outcome
import trio

T = TypeVar("T")


class Slot(Generic[T]):
    """The first `set` counts; a cancelled wait leaves nothing behind."""

    __slots__ = ("_task", "_value")

    def __init__(self) -> None:
        self._value: tuple[T] | None = None
        self._task: trio.lowlevel.Task | None = None

    def set(self, value: T) -> None:
        if self._value is not None:
            return
        self._value = (value,)
        if self._task is not None:
            trio.lowlevel.reschedule(self._task, outcome.Value(value))
            self._task = None

    def wait(self) -> Awaitable[T]:
        """Trio's own coroutine: one more round it would be felt by every call to a hook."""
        if self._value is not None:
            return _there(self._value[0])
        self._task = trio.lowlevel.current_task()
        return trio.lowlevel.wait_task_rescheduled(self._abort)  # noqa: ASYNC105 - whoever waits awaits it

    def _abort(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED


async def _there(value: T) -> T:
    await trio.lowlevel.checkpoint()
    return value
