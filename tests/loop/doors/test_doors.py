"""Strangers and people who write too much, in a whole gateway: nothing of it reaches a hook, a model or a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import trio

from hookgate.approvals.people import People
from hookgate.loop.doors.door import Door, Quota
from hookgate.loop.doors.doors import KEPT_AT_ONCE, SHUT_OUT, STRANGER, TOLD_S, TOO_OFTEN, Doors
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.hook.answers import CONTINUE
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.journal.values import Accepted, Arrival
from hookgate.store.memory import MemoryJournal
from tests.loop.recording import CHAT, Bench, hook, says

MakeBench = Callable[..., Bench]
STRANGE = Chat("test", "66", "66")
GROUP = Chat("test", "-1", "66", chat_type="group")


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def doors(door: Door, clock: Callable[[], float] = trio.current_time) -> Doors:
    made = Doors(clock)
    made.adopt({"test": door}, People())
    return made


async def ways(made: Bench, message: str) -> list[tuple[str, str]]:
    return [(it.what, it.why) for found in await made.journal.books.where(message) for it in found.passages]


async def test_a_stranger_is_a_row_in_the_books_and_is_told_once(bench: MakeBench) -> None:
    time, judged = Time(), list[str]()

    async def judge(question: object) -> object:
        judged.append("on_message")
        return CONTINUE

    guard = hook("guard", {Stage.ON_MESSAGE: judge})
    made = bench(says("never"), hooks=[guard], doors=doors(Door(("7",)), time))
    async with made.opened():
        first = await made.gateway.receive(Inbound(STRANGE, "let me in " * 100, ("data:,x",), "m1"))
        again = await made.gateway.receive(Inbound(STRANGE, "let me in", (), "m1"))
        for text in ("/stop", "/new", "please"):
            await made.say(text, STRANGE)
        await made.gateway.receive(Inbound(GROUP, "and here?", mentioned=True))
        await made.idle(STRANGE)
        assert made.lines == [STRANGER]
        time.now += TOLD_S
        await made.say("now?", STRANGE)
    assert made.lines == [STRANGER, STRANGER]
    assert (again.id, again.known) == (first.id, True)
    assert (await ways(made, first.id))[:2] == [("accepted", ""), ("refused", "a stranger")]
    [found] = await made.journal.books.where(first.id)
    assert len(found.text) == 200
    assert (judged, made.provider.requests, made.gateway.sessions) == ([], [], {})


async def test_what_a_group_says_to_others_is_in_no_book(bench: MakeBench) -> None:
    made = bench(says("heard"), doors=doors(Door(("66",))))
    async with made.opened():
        assert (await made.gateway.receive(Inbound(GROUP, "shall we eat?"))).id == ""
        await made.gateway.receive(Inbound(GROUP, "what do you think?", mentioned=True))
        await made.idle(GROUP)
        await made.say("/pending", GROUP)
    assert made.lines == ["heard", "Nothing waits for your word."]
    assert [it.entries for it in await made.journal.books.sessions()] == [2]


async def test_strangers_fill_no_disk(bench: MakeBench) -> None:
    made = bench(doors=doors(Door(), Time()))
    async with made.opened():
        took = [
            await made.gateway.receive(Inbound(Chat("test", str(n), str(n)), "x")) for n in range(KEPT_AT_ONCE + 9)
        ]
        await made.gateway.delivery.idle()
    assert sum(1 for it in took if it.id) == KEPT_AT_ONCE


async def test_who_writes_too_much_is_told_once_in_a_while_and_can_still_stop(bench: MakeBench) -> None:
    time = Time()
    made = bench(says("one"), says("two"), says("three"), doors=doors(Door(("7",), quota=Quota(2, 60.0)), time))
    me = replace(CHAT, sender="7")
    async with made.opened():
        for text in ("first", "second", "third", "/help", "/stop", "fourth"):
            await made.say(text, me)
            await made.idle(me)
        assert made.lines == ["one", "two", TOO_OFTEN, "Nothing is running here."]
        time.now += 30.0
        await made.say("fifth", me)
        await made.idle(me)
    assert made.lines[4:] == ["three"]
    assert [it.content for it in made.messages(me) if it.role == "user"] == ["first", "second", "fifth"]


async def test_what_a_stranger_by_now_had_said_before_a_restart_is_not_answered(bench: MakeBench) -> None:
    journal = MemoryJournal()
    left = await journal.intake.accept(Arrival(Inbound(STRANGE, "go"), "main", "k"))
    made = bench(says("never"), journal=journal, doors=doors(Door(("7",))))
    async with made.opened():
        await made.idle(STRANGE)
    assert (await ways(made, left.id))[-1] == ("refused", SHUT_OUT)
    assert made.provider.requests == []


async def test_whoever_has_to_repeat_what_no_store_took_is_heard_and_told_all_the_same(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    time, me = Time(), replace(CHAT, sender="7")
    judging = doors(Door(("7",), quota=Quota(1, 60.0)), time)
    made = bench(says("one"), doors=judging)

    async def full(*_given: object) -> Accepted:
        raise StoreFailed("the disk is full")

    async def repeated(inbound: Inbound) -> None:
        with monkeypatch.context() as patched:
            for name in ("accept", "refuse"):
                patched.setattr(made.journal.intake, name, full)
            for _ in range(3):
                with pytest.raises(StoreFailed):
                    await made.gateway.receive(inbound)
        for _ in range(3):
            await made.gateway.receive(inbound)
        await made.idle(inbound.chat)

    async with made.opened():
        assert judging.hears(Inbound(me, ""))
        await repeated(Inbound(me, "first", (), "m1"))
        # The files of what will not come in are not fetched either, and to ask takes nothing.
        assert not judging.hears(Inbound(me, ""))
        await repeated(Inbound(me, "second", (), "m2"))
        await repeated(Inbound(STRANGE, "let me in", (), "m3"))
        time.now += 60.0
        assert judging.hears(Inbound(me, ""))
    assert made.lines == ["one", TOO_OFTEN, STRANGER]
