"""Events on their way to a child: in order, whole, never waited for, and counted where they are lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from hookgate.hooks.children.process import HookProcess
from hookgate.processes.outbox import MAX_WAITING_EVENTS
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import TurnStart
from hookgate.protocol.hook.answers import Failed
from tests.hooks.doubles import STEP
from tests.hooks.processes import ask, open_child, spec, told


def _event(number: int, size: int = 0) -> Event:
    return Event(TurnStart("x" * size, number), STEP, number, 0)


async def _events(child: HookProcess) -> list[dict[str, Any]]:
    return [m["params"] for m in await told(child, "received") if m["method"] == "hook.event"]


async def test_events_arrive_in_order_between_calls() -> None:
    async with open_child() as child:
        for number in range(50):
            child.notify(_event(number))
            if number % 10 == 0:
                await ask(child, "answer", result={})
        found = await _events(child)
    assert [event["Payload"]["MediaCount"] for event in found] == list(range(50))
    assert all(event["Kind"] == "turn_start" and "Dropped" not in event for event in found)


async def test_the_newer_envelope_is_sent_where_it_is_chosen() -> None:
    async with open_child(event_method="hook.runtime_event") as child:
        child.notify(_event(41))
        _, event, _ = await told(child, "received")
    assert (event["method"], event["params"]["id"], event["params"]["kind"]) == (
        "hook.runtime_event",
        "evt-41",
        "agent.turn.start",
    )


async def test_an_observer_that_does_not_read_delays_nobody_and_learns_how_many_it_missed() -> None:
    """4 KB each, so that the pipe is full long before the queue is."""
    count = 1000
    async with open_child("deaf") as stuck, open_child() as neighbour:
        for number in range(count):
            stuck.notify(_event(number, 4096))
            neighbour.notify(_event(number))
        assert [e["Payload"]["MediaCount"] for e in await _events(neighbour)] == list(range(count))
        assert stuck.events_dropped > 0
        os.kill(stuck.pid, signal.SIGUSR1)
        found = await _events(stuck)
    _assert_complete(found, count)
    assert count - len(found) == stuck.events_dropped
    assert found[-1]["Payload"]["MediaCount"] == count - 1


def _assert_complete(found: list[dict[str, Any]], count: int) -> None:
    """Each gap stands, exactly, in the event after it; nothing is reordered or torn."""
    expected = 0
    for event in found:
        expected += event.get("Dropped", 0)
        assert event["Payload"]["MediaCount"] == expected
        expected += 1
    assert expected == count


async def test_a_gap_is_told_once_and_later_events_say_nothing_of_it() -> None:
    async with open_child("deaf") as child:
        for number in range(700):
            child.notify(_event(number, 4096))
        first = child.events_dropped
        os.kill(child.pid, signal.SIGUSR1)
        seen = await _events(child)
        assert 0 < first == 700 - len(seen)
        for number in range(700, 705):
            child.notify(_event(number))
        found = await _events(child)
    _assert_complete(found, 705)
    assert len([event for event in found if "Dropped" in event]) == 1
    assert len(seen) >= MAX_WAITING_EVENTS


async def test_calls_pass_with_events_in_the_order_they_were_sent() -> None:
    async with open_child("deaf") as child:
        for number in range(600):
            child.notify(_event(number, 4096))
        os.kill(child.pid, signal.SIGUSR1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(told, child, "where")
        received = await told(child, "received")
    assert [m["method"] for m in received[-2:]] == ["hook.before_tool", "hook.before_tool"]


@pytest.mark.usefixtures("quick_end")
async def test_a_call_behind_a_full_pipe_times_out_and_its_line_is_never_sent() -> None:
    async with open_child("deaf", {"ok": True, "cancel": True}) as child:
        for number in range(400):
            child.notify(_event(number, 4096))
        for _ in range(3):
            assert await ask(child, "answer", timeout_s=0.03, result={}) == Failed("no answer within 30 ms")
        os.kill(child.pid, signal.SIGUSR1)
        methods = [m["method"] for m in await told(child, "received")]
    assert methods.count("hook.before_tool") == 1
    assert methods.count("hook.cancel") == 0


async def test_events_to_a_dead_hook_are_dropped_without_a_word() -> None:
    async with open_child() as child:
        os.kill(child.pid, signal.SIGKILL)
        with trio.fail_after(20):
            await child.ended.wait()
        for number in range(1000):
            child.notify(_event(number))
        assert child.events_dropped == 0


LAST_WORDS = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
sys.stdin.buffer.readline()
os.write(1, b'{"id":1,"result":{}}\\n')
signal.sigwait({signal.SIGUSR1})
lines = list(sys.stdin.buffer)
with open("heard", "w") as heard:
    heard.write(str(len(lines)))
"""


@pytest.mark.parametrize("cancelled", [False, True])
async def test_events_that_still_wait_are_written_before_the_hook_is_stopped(cancelled: bool, tmp_path: Path) -> None:
    base = spec()
    changes = {"command": (*base.command[:3], "-c", LAST_WORDS), "directory": str(tmp_path), "flush_s": 5.0}
    with trio.CancelScope() as scope:
        async with open_child(**changes) as child:
            for number in range(300):
                child.notify(_event(number, 8192))
            os.kill(child.pid, signal.SIGUSR1)
            if cancelled:
                scope.cancel()
    heard = await trio.Path(tmp_path / "heard").read_text()
    assert (heard, child.events_dropped) == ("300", 0)
