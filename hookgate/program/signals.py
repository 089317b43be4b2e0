"""Signals that end a program: what runs is cancelled, so that everything it has opened is closed."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import FrameType
from typing import TypeVar

import trio

from hookgate.program.endings import over_echo

T = TypeVar("T")

SOON_S = 0.5
STOPPING = "hookgate: stopping what was started, which takes a few seconds"


def run_interruptibly(main: Callable[..., Awaitable[T]], *arguments: object) -> T:
    """`trio.run`, cancelled by the first Ctrl-C: what it has opened is closed in order, however many more there are.
    Where that is not done soon, or somebody asks again, a line says so.

    Raises what `main` raises, and KeyboardInterrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        # No signal comes there.
        return trio.run(main, *arguments)
    return trio.run(_until_interrupted, partial(main, *arguments))


async def _until_interrupted(main: Callable[[], Awaitable[T]]) -> T:
    pressed, again = trio.Event(), trio.Event()
    token = trio.lowlevel.current_trio_token()

    def hear() -> None:
        (again if pressed.is_set() else pressed).set()
        scope.cancel()

    def handle(_number: int, _frame: FrameType | None) -> None:
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(hear)

    # No nursery, which would wrap what is raised.
    trio.lowlevel.spawn_system_task(_say_that_it_stops, pressed, again)
    with trio.CancelScope() as scope:
        before = signal.signal(signal.SIGINT, handle)
        try:
            return await main()
        finally:
            # What was interrupted ends from here on, whatever else is pressed.
            if not pressed.is_set():
                signal.signal(signal.SIGINT, before)
    raise KeyboardInterrupt


async def _say_that_it_stops(pressed: trio.Event, again: trio.Event) -> None:
    await pressed.wait()
    with trio.move_on_after(SOON_S):
        await again.wait()
    _say_stopping()


async def say_if_it_stops_slowly(over: trio.Event) -> None:
    """For whoever leaves without a signal; in what is cancelled, too."""
    with trio.move_on_after(SOON_S, shield=True) as soon:
        await over.wait()
    if soon.cancelled_caught:
        _say_stopping()


def _say_stopping() -> None:
    sys.stderr.write(f"{over_echo()}{STOPPING}\n")
    sys.stderr.flush()


@asynccontextmanager
async def open_until_signal(*numbers: signal.Signals) -> AsyncGenerator[list[int]]:
    """The first of these signals cancels the body, more of them change nothing; leaving then raises nothing.

    Yields those that have come. Stands round what starts child processes, which are stopped in order. A signal to the
    whole process group comes twice, since the guardian hands on its own.
    """
    came: list[int] = []
    async with trio.open_nursery() as outside:
        async with trio.open_nursery() as nursery:
            await outside.start(_cancel_on_signal, nursery.cancel_scope, numbers, came)
            yield came
            nursery.cancel_scope.cancel()
        outside.cancel_scope.cancel()


async def _cancel_on_signal(
    scope: trio.CancelScope,
    numbers: tuple[signal.Signals, ...],
    came: list[int],
    task_status: trio.TaskStatus[None],
) -> None:
    with trio.open_signal_receiver(*numbers) as signals:
        task_status.started()
        async for number in signals:
            came.append(number)
            scope.cancel()
