"""What each signal asks of a gateway: to read its configuration, to stop in order, to stop now."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hookgate.serve.signals import ECHO_S, Orders


@asynccontextmanager
async def ordering() -> AsyncGenerator[tuple[Orders, trio.MemorySendChannel[int], trio.CancelScope]]:
    send, receive = trio.open_memory_channel[int](10)
    async with trio.open_nursery() as nursery:
        now = trio.CancelScope()
        orders = Orders(now)
        nursery.start_soon(orders.run, receive)
        yield orders, send, now
        nursery.cancel_scope.cancel()


async def test_the_first_signal_stops_in_order_its_echo_changes_nothing_and_a_second_one_ends_it(
    mock_clock: MockClock,
) -> None:
    async with ordering() as (orders, send, now):

        async def reload() -> None:
            raise AssertionError("nothing was to be reloaded")

        orders.reload = reload
        for number in (signal.SIGTERM, signal.SIGTERM):
            await send.send(number)
            await wait_all_tasks_blocked()
        assert (orders.stop.is_set(), now.cancel_called) == (True, False)
        await send.send(signal.SIGHUP)
        mock_clock.jump(ECHO_S + 0.1)
        await send.send(signal.SIGTERM)
        await wait_all_tasks_blocked()
        assert now.cancel_called


async def test_a_signal_before_all_is_open_ends_it_at_once() -> None:
    async with ordering() as (_, send, now):
        await send.send(signal.SIGINT)
        await wait_all_tasks_blocked()
        assert now.cancel_called


async def test_reloads_come_one_after_the_other_and_give_way_to_the_end() -> None:
    async with ordering() as (orders, send, now):
        begun, ended, gate = list[int](), list[int](), trio.Event()

        async def reload() -> None:
            begun.append(len(begun))
            try:
                await gate.wait()
            finally:
                ended.append(len(ended))

        orders.reload = reload
        for _ in range(2):
            await send.send(signal.SIGHUP)
            await wait_all_tasks_blocked()
        assert (begun, ended) == ([0], [])
        await send.send(signal.SIGTERM)
        await wait_all_tasks_blocked()
        assert (begun, ended, orders.stop.is_set(), now.cancel_called) == ([0], [0], True, False)
