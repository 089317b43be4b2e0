"""A hook process that is slow, deaf or too loud: deadlines, limits, floods."""

from __future__ import annotations

import os
import signal
import sys
from time import monotonic

import pytest
import trio
import trio.testing

from hookgate.hooks.children.process import HelloFailed, HookProcess, open_process
from hookgate.processes.child import FLOOD_BYTES, FLOOD_LINE_BYTES, READ_BYTES, TURN_READS
from hookgate.protocol.hook.answers import Failed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolCall
from tests.hooks.doubles import STEP
from tests.hooks.processes import (
    DEADLINE_S,
    alive,
    ask,
    open_child,
    open_rounds,
    question,
    spec,
    told,
    until,
)

# --- timeouts, cancellation, limits ---


async def test_a_call_that_is_not_answered_times_out_and_the_next_works() -> None:
    async with open_child() as child:
        started = monotonic()
        assert await ask(child, "silent", timeout_s=0.1) == Failed("no answer within 100 ms")
        assert monotonic() - started >= 0.1
        await alive(child)


@pytest.mark.usefixtures("quick_end")
async def test_a_hanging_hook_times_out_every_call() -> None:
    async with open_child() as child:
        assert await ask(child, "hang", timeout_s=0.05) == Failed("no answer within 50 ms")
        assert await ask(child, "where", timeout_s=0.05) == Failed("no answer within 50 ms")


async def _cancels(child: HookProcess) -> list[int]:
    return [m["params"]["id"] for m in await told(child, "received") if m["method"] == "hook.cancel"]


async def test_a_hook_that_wants_to_know_is_told_of_a_timeout_and_of_a_cancellation() -> None:
    async with open_child(hello={"cancel": True}) as child:
        await ask(child, "silent", timeout_s=0.03)
        with trio.move_on_after(0.03):
            await ask(child, "silent")
        await ask(child, "answer", result={})
        assert await _cancels(child) == [2, 3]


async def test_a_plain_hook_hears_of_no_cancellation() -> None:
    async with open_child() as child:
        await ask(child, "silent", timeout_s=0.03)
        assert await _cancels(child) == []


@pytest.mark.parametrize(
    ("config", "declared", "limit"), [(3, None, 3), (256, 3, 3), (2, 5, 2), (5, 2, 2), (1, None, 1)]
)
async def test_no_more_calls_are_in_flight_than_config_and_hook_allow(
    config: int, declared: int | None, limit: int
) -> None:
    hello = {"ok": True, "max_in_flight": declared}
    async with open_child(hello=hello, max_in_flight=config) as child:

        async def one() -> None:
            await ask(child, "silent", timeout_s=0.3)

        async with trio.open_nursery() as nursery:
            for _ in range(limit + 2):
                nursery.start_soon(one)
        asked = [m for m in await told(child, "received") if m["params"].get("arguments", {}).get("do") == "silent"]
        # The others waited for a place until their own deadline, and got one only when it was too late to matter.
        assert len([m for m in asked if m["params"]["deadline_ms"] > 200]) == limit


async def test_a_freed_place_is_taken_by_the_next_in_line() -> None:
    async with open_child(max_in_flight=1) as child:
        order: list[int] = []

        async def one(n: int) -> None:
            await ask(child, "answer", result={})
            order.append(n)

        async with trio.open_nursery() as nursery:
            for n in range(20):
                nursery.start_soon(one, n)
        assert sorted(order) == list(range(20))


async def test_drained_waits_for_the_calls_in_flight() -> None:
    async with open_child() as child:
        answered: list[object] = []

        async def one() -> None:
            answered.append(await ask(child, "silent", 0.1))

        with trio.fail_after(DEADLINE_S):
            await child.drained()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one)
                await trio.testing.wait_all_tasks_blocked()
                await child.drained()
                await trio.lowlevel.checkpoint()
                assert answered


# --- floods ---


@pytest.mark.parametrize("piece", ["x\n", "{}\n", '{"id":77,"result":{}}\n', '{"id":7,"method":"log"}\n'])
@pytest.mark.usefixtures("quick_end")
async def test_a_flood_of_lines_on_stdout_ends_the_hook_before_it_is_much_work(piece: str) -> None:
    async with open_child() as child:
        assert await ask(child, "flood", piece=piece) == Failed("it floods its stdout")
        assert 0 < child.noise + child.strays + child.refused <= FLOOD_BYTES // FLOOD_LINE_BYTES + READ_BYTES


@pytest.mark.usefixtures("quick_end")
async def test_a_flood_without_lines_ends_the_hook_and_others_have_their_turn_in_between() -> None:
    async with open_child() as child, trio.open_nursery() as nursery:
        seen: set[int] = set()

        async def watch() -> None:
            while True:
                seen.add(child._child._flood)  # the one place where how far it came can be seen
                await trio.lowlevel.checkpoint()

        nursery.start_soon(watch)
        assert await ask(child, "flood", piece="x") == Failed("it floods its stdout")
        nursery.cancel_scope.cancel()
    # About one turn for each read; without, there would be one or two in all.
    assert len(seen) >= FLOOD_BYTES // (READ_BYTES * TURN_READS) // 4


@pytest.mark.usefixtures("quick_end")
async def test_a_flooding_grandchild_does_not_hold_the_loop_after_the_exit() -> None:
    code = "import os,sys;d=b'x\\n'*32768\nif os.fork(): os._exit(0)\nwhile True: os.write(1,d)"
    async with open_rounds() as rounds:
        with trio.fail_after(DEADLINE_S), pytest.raises(HelloFailed):
            async with open_process(spec(command=(sys.executable, "-S", "-E", "-c", code)), rounds):
                pytest.fail("it must not open")


@pytest.mark.parametrize("piece", ["x", "x\n", "a line of a log\n"])
async def test_much_stderr_is_drained_and_blocks_no_call(piece: str) -> None:
    async with open_child() as child:
        assert await told(child, "stderr", piece=piece, times=8_000_000 // len(piece)) == "after"
        await alive(child)


@pytest.mark.usefixtures("quick_end")
async def test_an_endless_flood_on_stderr_does_not_hold_the_neighbour_up() -> None:
    async with open_child() as bad, open_child() as good, trio.open_nursery() as nursery:
        nursery.start_soon(bad.ask, question("flood", piece="x\n", fd=2), 2)
        for _ in range(20):
            await alive(good)
        assert not bad.ended.is_set()
        nursery.cancel_scope.cancel()


# --- a hook that does not read ---


@pytest.mark.usefixtures("quick_end")
async def test_calls_to_a_hook_that_does_not_read_time_out_and_do_not_pile_up() -> None:
    text = "x" * 300_000
    async with open_child("deaf", {"ok": True, "cancel": True}) as child, open_child() as neighbour:
        async with trio.open_nursery() as nursery:
            for _ in range(40):
                nursery.start_soon(ask, child, "answer", 0.2)
                call = ToolCall("c", "bash", {"do": "answer", "text": text})
                nursery.start_soon(child.ask, Question(Stage.BEFORE_TOOL, STEP, call), 0.2)
            await alive(neighbour)
        outbox = child._outbox  # the one place where what waits can be seen
        assert len(outbox._queue) < 40
        assert outbox._bytes < 2_000_000


async def test_a_hook_that_reads_again_gets_whole_lines_and_answers() -> None:
    async with open_child("deaf") as child:
        text = "x" * 3_000_000
        assert await ask(child, "echo", timeout_s=0.1, text=text) == Failed("no answer within 100 ms")
        os.kill(child.pid, signal.SIGUSR1)
        found = await told(child, "received")
        assert found[1]["params"]["arguments"]["text"] == text
        await until(lambda: child.strays == 1)
