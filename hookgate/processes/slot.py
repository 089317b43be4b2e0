"""A value that one task waits for and another one sets, once: trio.Event's price without its parking lot."""

from __future__ import annotations

from typing import Generic, TypeVar

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
            trio.lowlevel.reschedule(self._task)
            self._task = None

    async def wait(self) -> T:
        if self._value is None:
            self._task = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._abort)
        else:
            await trio.lowlevel.checkpoint()
        assert self._value is not None  # noqa: S101 - only set() reschedules
        return self._value[0]

    def _abort(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED
