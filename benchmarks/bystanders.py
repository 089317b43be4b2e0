"""A turn while an observer and an audit hook dawdle, beside the same turn without them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from benchmarks.chatting import open_chatting, say
from benchmarks.figures import Bar, Figure, Pair, Run
from hookgate.assembly.app import Runtime

STAGES = ["before_llm", "after_llm", "before_tool", "after_tool"]
SLEEPER = [sys.executable, "-IS", str(Path(__file__).with_name("slow_hook.py")), "1"]
TURNS = 8
"""So few that the audit hook is asked about every stage of every turn: at 64 open questions it no longer is."""
ROUNDS = 2
"""Of these for each of other benchmarks: a turn's time scatters by more than what is judged."""
QUIET_S = 0.003
PAUSE_S = 0.03
"""Longer than events and the questions of audits wait to be written together (20 ms each)."""
BESIDE = Bar("a turn beside an observer and an audit hook that sleep 1 s", "the turn without them", "µs", 1.05)


async def measure(run: Run) -> list[Figure]:
    """The two gateways of a round are equally young; its sleepers have slept for nobody yet."""
    pairs: list[Pair] = []
    async with trio.open_nursery() as closing:
        for _ in range(ROUNDS * run.rounds):
            leave = trio.Event()
            alone: Runtime = await closing.start(_run_gateway, _hooks(run, slow=False), leave)
            beside: Runtime = await closing.start(_run_gateway, _hooks(run, slow=True), leave)
            pairs.append(await _pair(alone, beside, run.times(TURNS)))
            # Sleepers are slow to stop as well; the next round need not wait for that.
            leave.set()
    return [BESIDE.judged(pairs)]


async def _run_gateway(
    hooks: Mapping[str, Mapping[str, Any]], leave: trio.Event, task_status: trio.TaskStatus[Runtime]
) -> None:
    async with open_chatting(hooks) as runtime:
        await say(runtime, "warm", "look")
        task_status.started(runtime)
        await leave.wait()


def _hooks(run: Run, *, slow: bool) -> dict[str, dict[str, Any]]:
    normal = {"command": [str(run.echo)], "intercept": STAGES, "required": True}
    observer = {"command": SLEEPER, "observe": ["*"], "required": True}
    audit = {"command": SLEEPER, "intercept": STAGES, "mode": "audit", "required": True}
    return {"normal": normal} | ({"observer": observer, "audit": audit} if slow else {})


async def _pair(alone: Runtime, beside: Runtime, turns: int) -> Pair:
    """Microseconds. The two take turns, also in who is first; each turn is a conversation of its own."""
    quiet: list[float] = []
    busy: list[float] = []
    for number in range(turns):
        both = ((alone, quiet), (beside, busy))
        for runtime, times in both if number % 2 else reversed(both):
            # What the turn before left to be done on the side is not this one's.
            await trio.sleep(PAUSE_S)
            await wait_all_tasks_blocked(QUIET_S)
            started = perf_counter_ns()
            await say(runtime, f"{started}-{number}", "look")
            times.append((perf_counter_ns() - started) / 1000)
    return median(quiet), median(busy)
