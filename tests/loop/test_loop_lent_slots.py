"""A turn's place while turns work on it that its calls have begun, and the clocks of these."""

from __future__ import annotations

import trio
import trio.testing

from hookgate.loop.nested.clock import Clock
from hookgate.loop.slots import Slot

DEADLINE_S = 60.0


async def test_a_place_is_given_back_only_while_all_wait_that_work_on_it() -> None:
    slots, leave, back = trio.Semaphore(1), trio.Event(), [trio.Event(), trio.Event()]

    async def work(slot: Slot, number: int) -> None:
        async with slot.lent(2, DEADLINE_S) as its:
            async with its.given_back():
                await back[number].wait()
            await leave.wait()

    with trio.fail_after(DEADLINE_S):
        async with Slot(slots) as slot, trio.open_nursery() as nursery:
            nursery.start_soon(work, slot, 0)
            nursery.start_soon(work, slot, 1)
            await trio.testing.wait_all_tasks_blocked()
            assert slots.value == 1
            back[0].set()
            await trio.testing.wait_all_tasks_blocked()
            # One works again, and the other needs no place of its own.
            assert slots.value == 0
            back[1].set()
            await trio.testing.wait_all_tasks_blocked()
            assert slots.value == 0
            leave.set()
        assert slots.value == 1


async def test_of_more_than_may_work_on_a_place_at_once_the_rest_waits() -> None:
    slots, at_work, most = trio.Semaphore(1), 0, 0

    async def work(slot: Slot) -> None:
        nonlocal at_work, most
        async with slot.lent(3, DEADLINE_S):
            at_work += 1
            most = max(most, at_work)
            await trio.testing.wait_all_tasks_blocked()
            at_work -= 1

    with trio.fail_after(DEADLINE_S):
        async with Slot(slots) as slot:
            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    nursery.start_soon(work, slot)
            assert slots.value == 0
    assert (most, slots.value) == (3, 1)


async def test_one_that_is_cut_off_while_it_waits_leaves_the_place_to_whoever_began_it() -> None:
    slots, scope = trio.Semaphore(1), trio.CancelScope()

    async def work(slot: Slot) -> None:
        async with slot.lent(1, DEADLINE_S) as its:
            with scope:
                async with its.given_back():
                    await trio.sleep_forever()

    with trio.fail_after(DEADLINE_S):
        async with Slot(slots) as slot:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(work, slot)
                await trio.testing.wait_all_tasks_blocked()
                assert slots.value == 1
                scope.cancel()
            assert slots.value == 0
        assert slots.value == 1


async def test_all_clocks_above_stand_still_while_a_person_is_waited_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with Slot(trio.Semaphore(1)) as slot, slot.lent(1, 5) as its, its.lent(1, 3) as inner:
        assert its.clock is not None
        assert inner.clock is not None
        with its.clock.scope as outer_scope, inner.clock.scope as scope:
            await trio.sleep(2)
            async with inner.given_back(), inner.given_back():
                await trio.sleep(100)
            await trio.sleep(0.5)
            async with inner.given_back():
                await trio.sleep(100)
            assert not scope.cancel_called
            await trio.sleep(1)
        assert scope.cancelled_caught
        assert not outer_scope.cancel_called


async def test_a_clock_runs_out_though_it_was_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    clock = Clock(1)
    with clock.scope:
        with clock.standing_still():
            await trio.sleep(10)
        await trio.sleep(10)
    assert clock.scope.cancelled_caught
