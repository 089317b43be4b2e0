"""Signals that end a program: what runs is cancelled, so that everything it has opened is closed."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio


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
