"""A long conversation through three hooks that leave it unchanged, beside one such hook."""

from __future__ import annotations

from time import perf_counter_ns, process_time_ns

from benchmarks.echo import STEP, Floor, frame_of, open_floor, open_gate, plan
from benchmarks.figures import Bar, Figure, Pair, Run
from hookgate.hooks.gate import Gate
from hookgate.hooks.rules import Rules
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import LLMRequest, Message, ProposedCall

CALLS = 40
BYTES = 256 * 1024
ALONE = Bar("`before_llm`, 256 KB, one hook", "blocking write and read", "µs")
CPU = Bar("`before_llm`, 256 KB, three hooks: own CPU time", "one hook", "µs", 1.5)
WALL = Bar("`before_llm`, 256 KB, three hooks: wall time", "one hook", "µs", 3.2)

CODE = 'def greet(name: str) -> str:\n    """Says it."""\n    return f"Hello, {name}!"\n\n'


async def measure(run: Run) -> list[Figure]:
    request, command = conversation(), [str(run.echo)]
    frame = frame_of(Question(Stage.BEFORE_LLM, STEP, request))
    rules = Rules(stages=frozenset({Stage.BEFORE_LLM}))
    one_hook = [plan("echo", command, rules)]
    three_hooks = [plan(f"echo{number}", command, rules) for number in range(3)]
    bare: list[float] = []
    one: list[Pair] = []
    three: list[Pair] = []
    with open_floor(command) as floor:
        async with open_gate(one_hook) as single, open_gate(three_hooks) as triple:
            for _ in range(run.rounds):
                bare.append(_bare(floor, frame, run.times(CALLS)))
                one.append(await _costs(single, request, run.times(CALLS)))
                three.append(await _costs(triple, request, run.times(CALLS)))
    return [
        ALONE.judged([(floor, wall) for floor, (_, wall) in zip(bare, one, strict=True)]),
        CPU.judged([(a[0], b[0]) for a, b in zip(one, three, strict=True)]),
        WALL.judged([(a[1], b[1]) for a, b in zip(one, three, strict=True)]),
    ]


def conversation() -> LLMRequest:
    """256 KB of an agent's day: a question, a call, the file it read, what it says about it."""
    messages: list[Message] = []
    while sum(len(message.content) + 80 for message in messages) < BYTES:
        number = len(messages)
        call = ProposedCall(f"call_{number}", "read", f'{{"path":"src/greet_{number}.py","limit":200}}')
        messages += [
            Message("user", f"What does greet_{number} do, and is it right?"),
            Message("assistant", "", (call,)),
            Message("tool", CODE * 20, tool_call_id=call.id),
            Message("assistant", "It says hello ✓ and it is right.\n" * 20),
        ]
    return LLMRequest(STEP.model, tuple(messages))


def _bare(floor: Floor, frame: bytes, calls: int) -> float:
    """Microseconds of one round trip."""
    started = perf_counter_ns()
    for _ in range(calls):
        floor.ask(frame)
    return (perf_counter_ns() - started) / 1000 / calls


async def _costs(gate: Gate, request: LLMRequest, calls: int) -> tuple[float, float]:
    """CPU and wall time of one call, in microseconds."""
    started, cpu = perf_counter_ns(), process_time_ns()
    for _ in range(calls):
        await gate.before_llm(STEP, request)
    return (process_time_ns() - cpu) / 1000 / calls, (perf_counter_ns() - started) / 1000 / calls
