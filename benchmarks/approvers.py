"""Five approvers that take their time, asked at once."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter_ns

from benchmarks.echo import STEP, frame_of, open_floor, open_gate, plan, tool_call
from benchmarks.figures import Bar, Figure, Pair, Run
from hookgate.hooks.rules import Rules
from hookgate.protocol.hook.stages import Question, Stage

CALLS = 20
SLOW = [sys.executable, "-IS", str(Path(__file__).with_name("slow_hook.py"))]
TOGETHER = Bar("five approvers that each take 10 ms, together", "one of them, blocking", "ms", 14.0, absolute=True)


async def measure(run: Run) -> list[Figure]:
    call, command = tool_call(), [*SLOW, "0.010"]
    frame = frame_of(Question(Stage.APPROVE_TOOL, STEP, call))
    rules = Rules(stages=frozenset({Stage.APPROVE_TOOL}))
    pairs: list[Pair] = []
    with open_floor(command) as floor:
        floor.ask(frame)  # the interpreter's own start
        async with open_gate([plan(f"approver{number}", command, rules) for number in range(5)]) as gate:
            for _ in range(run.times(CALLS)):
                began = perf_counter_ns()
                floor.ask(frame)
                asked = perf_counter_ns()
                verdict = await gate.approve_tool(STEP, call)
                pairs.append(((asked - began) / 1e6, (perf_counter_ns() - asked) / 1e6))
                assert verdict == (), "all five approve"
    return [TOGETHER.judged(pairs)]
