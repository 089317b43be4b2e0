"""One caller, one hook: what `Gate.before_tool` costs over a bare round trip to the same program."""

from __future__ import annotations

from time import perf_counter_ns

from benchmarks.cores import cores_apart
from benchmarks.echo import STEP, Floor, frame_of, open_floor, open_gate, plan, tool_call
from benchmarks.figures import Bar, Figure, Pair, Run, quantile
from hookgate.hooks.gate import Gate
from hookgate.hooks.rules import Rules
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolCall

CALLS = 2000
ROUND_TRIP = "blocking write and read, p50"
MEDIAN = Bar("one `before_tool` call, 0.5 KB, p50", ROUND_TRIP, "µs", 4.8, main=True)
TAIL = Bar("one `before_tool` call, 0.5 KB, p99", ROUND_TRIP, "µs", 10.0, main=True)


async def measure(run: Run) -> list[Figure]:
    call, command = tool_call(), [str(run.echo)]
    frame = frame_of(Question(Stage.BEFORE_TOOL, STEP, call))
    rules = Rules(stages=frozenset({Stage.BEFORE_TOOL}))
    medians: list[Pair] = []
    tails: list[Pair] = []
    with cores_apart() as part, open_floor(command) as floor:
        async with open_gate([plan("echo", command, rules)]) as gate:
            part()
            for _ in range(run.rounds):
                bare = quantile(_bare(floor, frame, run.times(CALLS)), 0.5)
                gated = await _gated(gate, call, run.times(CALLS))
                medians.append((bare, quantile(gated, 0.5)))
                tails.append((bare, quantile(gated, 0.99)))
    return [MEDIAN.judged(medians), TAIL.judged(tails)]


def _bare(floor: Floor, frame: bytes, count: int) -> list[float]:
    took: list[float] = []
    for _ in range(count):
        started = perf_counter_ns()
        floor.ask(frame)
        took.append((perf_counter_ns() - started) / 1000)
    return took


async def _gated(gate: Gate, call: ToolCall, count: int) -> list[float]:
    took: list[float] = []
    for _ in range(count):
        started = perf_counter_ns()
        await gate.before_tool(STEP, call)
        took.append((perf_counter_ns() - started) / 1000)
    return took
