"""Turns at work at once, of whom they are: nobody has them all while somebody else waits."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
import trio.testing

from hookgate.loop.places import Holder, Places
from hookgate.protocol.chat import Chat
from hookgate.protocol.hook.answers import CONTINUE, Answer
from hookgate.protocol.hook.stages import Question, Stage
from tests.loop.recording import Bench, hook, says

MakeBench = Callable[..., Bench]


@pytest.mark.parametrize(
    ("keyed", "begun"),
    [
        # A person has all while nobody waits, and then no more than half.
        ((), ["ann", "ann", "ann", "ann", "bob", "bob", "ann"]),
        # A key leaves one from the start.
        (("test",), ["ann", "ann", "ann", "bob", "bob", "ann", "ann"]),
    ],
)
async def test_what_comes_free_goes_to_whoever_has_less_than_half(
    bench: MakeBench, keyed: tuple[str, ...], begun: list[str]
) -> None:
    working, ends = list[str](), list[trio.Event]()

    async def hold(question: Question) -> Answer:
        working.append(question.step.chat.sender)
        ends.append(end := trio.Event())
        await end.wait()
        return CONTINUE

    hooks = [hook("h", {Stage.BEFORE_LLM: hold})]
    made = bench(*[says("x")] * 7, hooks=hooks, max_turns=4, keyed=keyed)
    chats = [
        Chat("test", f"{sender} {n}", sender=sender)
        for sender, count in (("ann", 5), ("bob", 2))
        for n in range(count)
    ]
    async with made.opened():
        for chat in chats:
            await made.say("go", chat)
            await trio.testing.wait_all_tasks_blocked()
        for number in range(7):
            ends[number].set()
            await trio.testing.wait_all_tasks_blocked()
        for chat in chats:
            await made.idle(chat)
    assert working == begun


async def test_one_that_gives_up_waiting_has_no_place_and_the_next_one_gets_it() -> None:
    places = Places(1)
    ann, bob = places.of(Holder("ann")), places.of(Holder("bob"))
    await ann.acquire()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as waiting:
                    waiting.start_soon(ann.acquire)
                    await trio.testing.wait_all_tasks_blocked()
                    nursery.start_soon(bob.acquire)
                    await trio.testing.wait_all_tasks_blocked()
                    scope.cancel()
            ann.release()
    assert places.free == 0
    bob.release()
    assert places.free == 1


async def test_a_place_that_is_given_to_one_who_is_cancelled_in_that_moment_is_free() -> None:
    places, ann = Places(1), Holder("ann")
    await places.acquire(ann)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(places.acquire, ann)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
        places.release(ann)
    assert places.free == 1
    await places.acquire(ann)
