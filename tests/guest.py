"""Async functions called one by one in a single run of trio, by tests that are not async: state machines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Any, TypeVar, cast

import outcome
import trio

T = TypeVar("T")
PATIENCE_S = 30.0


class Guest:
    """A run of trio in this thread, which moves only while somebody waits for one of its results."""

    def __init__(self) -> None:
        self._turns: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._ended: list[object] = []
        self._nursery: trio.Nursery | None = None
        trio.lowlevel.start_guest_run(
            self._main, run_sync_soon_threadsafe=self._turns.put, done_callback=self._ended.append
        )
        while self._nursery is None:
            self._turn()

    def call(self, function: Callable[..., Awaitable[T]], *arguments: object) -> T:
        """What the function returns or raises."""
        came: list[outcome.Outcome[Any]] = []

        async def work() -> None:
            came.append(await outcome.acapture(function, *arguments))

        self._token.run_sync_soon(self._start, work)
        while not came:
            self._turn()
        return cast("T", came[0].unwrap())

    def start(self, function: Callable[..., Awaitable[None]]) -> object:
        """What the function gives its `task_status`; it goes on beside others then."""
        assert self._nursery is not None
        return self.call(self._nursery.start, function)

    def close(self) -> None:
        self._token.run_sync_soon(self._cancel)
        while not self._ended:
            self._turn()

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as self._nursery:
            await trio.sleep_forever()

    def _start(self, work: Callable[[], Awaitable[None]]) -> None:
        assert self._nursery is not None
        self._nursery.start_soon(work)

    def _cancel(self) -> None:
        assert self._nursery is not None
        self._nursery.cancel_scope.cancel()

    def _turn(self) -> None:
        self._turns.get(timeout=PATIENCE_S)()
