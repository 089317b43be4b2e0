"""Signals that end a program: what runs is cancelled, so that everything it has opened is closed."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def open_until_signal(*numbers: signal.Signals) -> AsyncGenerator[None]:
    """The first of these signals cancels the body; leaving then raises nothing.

    Stands round what starts child processes: by default the same signal would leave them to themselves.
    """
    async with trio.open_nursery() as nursery:
        await nursery.start(_cancel_on_signal, nursery.cancel_scope, numbers)
        yield
        nursery.cancel_scope.cancel()


async def _cancel_on_signal(
    scope: trio.CancelScope, numbers: tuple[signal.Signals, ...], task_status: trio.TaskStatus[None]
) -> None:
    with trio.open_signal_receiver(*numbers) as signals:
        task_status.started()
        async for _number in signals:
            scope.cancel()
            return
