"""Steps that are made of what several tasks ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio
import trio.testing

from hookgate.protocol.catalog import StoreFailed
from hookgate.store.postgres.together import MOST, Together


async def asked(write: Callable[[Sequence[int]], Sequence[int]]) -> list[int | str]:
    """What comes of 0, 1, 2 and 3."""
    found: dict[int, int | str] = {}

    async def step(values: Callable[[], Sequence[int]]) -> Sequence[int]:
        await trio.testing.wait_all_tasks_blocked()
        return write(values())

    together = Together[int, int](step)

    async def ask(value: int) -> None:
        try:
            found[value] = await together.ask(value)
        except Exception as error:
            found[value] = repr(error)

    async with trio.open_nursery() as nursery:
        for value in range(4):
            nursery.start_soon(ask, value)
    return [found[value] for value in range(4)]


async def test_each_has_its_own_answer_and_all_that_wait_go_together() -> None:
    steps: list[Sequence[int]] = []

    def double(values: Sequence[int]) -> Sequence[int]:
        steps.append(values)
        return [2 * it for it in values]

    assert await asked(double) == [0, 2, 4, 6]
    assert sum(map(len, steps)) == 4
    assert len(steps) < 4


async def test_whoever_comes_before_a_step_takes_its_values_is_in_it_others_in_the_next_and_none_is_cancelled() -> (
    None
):
    steps, found = list[Sequence[int]](), dict[int, int]()
    begins, ends = trio.Event(), trio.Event()

    async def step(values: Callable[[], Sequence[int]]) -> Sequence[int]:
        await begins.wait()
        steps.append(taken := values())
        await ends.wait()
        return taken

    together = Together[int, int](step)

    async def ask(value: int) -> None:
        found[value] = await together.ask(value)

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            for values in (range(1), range(1, 4)):
                for value in values:
                    nursery.start_soon(ask, value)
                await trio.testing.wait_all_tasks_blocked()
            begins.set()
            await trio.testing.wait_all_tasks_blocked()
            for value in range(4, MOST + 9):
                nursery.start_soon(ask, value)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
            ends.set()
    assert found == {it: it for it in range(MOST + 9)}
    assert list(map(len, steps)) == [4, MOST, 5]


async def test_what_the_store_does_not_take_fails_for_all_that_went_together() -> None:
    def fail(values: Sequence[int]) -> Sequence[int]:
        raise StoreFailed("the disk is full")

    assert await asked(fail) == 4 * ["StoreFailed('the disk is full')"]


async def test_the_error_of_one_is_not_that_of_the_others() -> None:
    def fail(values: Sequence[int]) -> Sequence[int]:
        if 2 in values:
            raise ValueError("two")
        return values

    assert await asked(fail) == [0, 1, "ValueError('two')", 3]
