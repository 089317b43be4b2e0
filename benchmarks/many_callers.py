"""Many callers at once, on one hook and on eight: time per call beside that of a bare asyncio client."""

from __future__ import annotations

from contextlib import closing
from time import perf_counter_ns

import orjson
import trio

from benchmarks.asyncio_client import Clients
from benchmarks.echo import STEP, TIMEOUT_S, open_gate, plan, tool_call
from benchmarks.figures import Bar, Figure, Pair, Run
from hookgate.hooks.gate import Gate
from hookgate.hooks.rules import Rules
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.hook.stages import Question, Stage

CALLERS = 64
CALLS = 60
BARE = "asyncio streams and orjson"
ONE = Bar("64 callers on one hook, per call", BARE, "µs", 2.5, main=True)
EIGHT = Bar("8 hooks with 8 callers each, per call", BARE, "µs", 2.5)


async def measure(run: Run) -> list[Figure]:
    return [ONE.judged(await _pairs(run, 1)), EIGHT.judged(await _pairs(run, 8))]


async def _pairs(run: Run, children: int) -> list[Pair]:
    tools = [f"tool{number}" for number in range(children)]
    command = [str(run.echo)]
    params = orjson.loads(Question(Stage.BEFORE_TOOL, STEP, tool_call(tools[0])).framed_params(TIMEOUT_S))
    calls, pairs = run.times(CALLS), list[Pair]()
    async with open_gate([plan(tool, command, _only(tool)) for tool in tools]) as gate:
        with closing(Clients(command, children)) as clients:
            for _ in range(run.rounds):
                bare = _bare(clients, params, (CALLERS // children, calls))
                pairs.append((bare / CALLERS / calls, await _gated(gate, tools, calls) / CALLERS / calls))
    return pairs


def _only(tool: str) -> Rules:
    return Rules(stages=frozenset({Stage.BEFORE_TOOL}), match=Matcher({"tools": Globs((tool,))}))


def _bare(clients: Clients, params: dict[str, object], load: tuple[int, int]) -> float:
    """Microseconds over all."""
    started = perf_counter_ns()
    clients.ask(params, *load)
    return (perf_counter_ns() - started) / 1000


async def _gated(gate: Gate, tools: list[str], calls: int) -> float:
    async def caller(tool: str) -> None:
        call = tool_call(tool)
        for _ in range(calls):
            await gate.before_tool(STEP, call)

    started = perf_counter_ns()
    async with trio.open_nursery() as nursery:
        for number in range(CALLERS):
            nursery.start_soon(caller, tools[number % len(tools)])
    return (perf_counter_ns() - started) / 1000
