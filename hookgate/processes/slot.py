"""A value that one task waits for and another one sets, once: trio.Event's price without its parking lot."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Generic, TypeVar

import trio

T = TypeVar("T")
UNSET: Any = object()


class Slot(Generic[T]):
    """The first `set` counts; a cancelled wait leaves nothing behind.

    Trio wakes a task with an outcome, of which it wants to `unwrap` alone: the slot is that itself.
    """

    __slots__ = ("_task", "_value")

    def __init__(self) -> None:
        self._value: T = UNSET
        self._task: trio.lowlevel.Task | None = None

    def set(self, value: T) -> None:
        if self._value is not UNSET:
            return
        self._value = value
        if self._task is not None:
            trio.lowlevel.reschedule(self._task, self)  # type: ignore[arg-type]
            self._task = None

    def wait(self) -> Awaitable[T]:
        """Trio's own coroutine: one more round it would be felt by every call to a hook."""
        if self._value is not UNSET:
            return _there(self._value)
        self._task = trio.lowlevel.current_task()
        return trio.lowlevel.wait_task_rescheduled(self._abort)  # noqa: ASYNC105 - whoever waits awaits it

    def unwrap(self) -> T:
        return self._value

    def _abort(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED


async def _there(value: T) -> T:
    await trio.lowlevel.checkpoint()
    return value
