"""Reading arguments: what repair costs where nothing is broken, how it grows, how long it holds everybody up."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from time import perf_counter_ns

import trio
import trio.lowlevel

from benchmarks.figures import Bar, Figure, Pair, Run
from hookgate.loop.asked import read_reply
from hookgate.protocol.values import LLMReply, LLMRequest, ProposedCall
from hookgate.tools.repair import Undecodable, decode_arguments

CAP = 1024 * 1024
VALID = Bar("decoding valid arguments, 4 KB", "`json.loads`", "µs", 1.3)
GROWTH = Bar("repairing twice the text, hostile or not", "half the text", "ms", 2.3)
HELD = Bar(
    "longest hold of the event loop by 1 MB of it", "`json.loads` of as much", "ms", 20.0, absolute=True, or_times=1.0
)


def _texts(size: int) -> Sequence[str]:
    """Each is broken in another way and makes a careless reader slow."""
    return (
        '{"a": "' + "x\n" * (size // 2),
        '{"a": [' + "1," * (size // 2) + "]}",
        "{'a': '" + "it is, " * (size // 7) + "'}",
        "{" * size,
        '{"a": "' + '\\"' * (size // 2),
        "[" * (size // 2) + "]" * (size // 2),
        '{"a":' + " " * size,
        "prose { " * (size // 8),
        "{a: 1, // note\n" * (size // 16),
        '{"text": "' + "word, word: {word} " * (size // 19) + '",}',
    )


async def measure(run: Run) -> list[Figure]:
    valid = [_valid(run.times(2000)) for _ in range(run.rounds)]
    # So that no text is longer than what is read at all.
    size = run.times(CAP - 256) // 2 * 2
    growth = [max(_growth(size, number) for number in range(len(_texts(8)))) for _ in range(max(1, run.rounds // 3))]
    held = [max([await _held(text) for text in _texts(size)], key=lambda pair: pair[1])]
    return [VALID.judged(valid), GROWTH.judged([(1.0, ratio) for ratio in growth]), HELD.judged(held)]


def _valid(count: int) -> Pair:
    text = json.dumps({"path": "src/main.py", "content": "a line of code\n" * 260, "mode": [1, 2.5, None, True]})
    began = perf_counter_ns()
    for _ in range(count):
        json.loads(text)
    floor = perf_counter_ns()
    for _ in range(count):
        decode_arguments(text, guess=False)
    return (floor - began) / count / 1000, (perf_counter_ns() - floor) / count / 1000


def _growth(size: int, number: int) -> float:
    """How much longer twice the text takes; the best of three of each, since only the algorithm is asked about."""
    half, whole = _texts(size // 2)[number], _texts(size)[number]
    return min(_took(whole) for _ in range(3)) / max(min(_took(half) for _ in range(3)), 0.05)


def _took(text: str) -> float:
    began = perf_counter_ns()
    with contextlib.suppress(Undecodable):
        decode_arguments(text[:CAP], guess=False)
    return (perf_counter_ns() - began) / 1e6


async def _held(text: str) -> Pair:
    """The longest time that another task was not let in while a reply with these arguments was read."""
    whole = json.dumps({"a": text})[:CAP]
    began = perf_counter_ns()
    with contextlib.suppress(ValueError):
        json.loads(whole)
    floor = (perf_counter_ns() - began) / 1e6
    longest = 0.0
    reply = LLMReply("p/m", "", (ProposedCall("c", "t", text[:CAP]),))
    async with trio.open_nursery() as nursery:

        async def beat() -> None:
            nonlocal longest
            last = perf_counter_ns()
            while True:
                await trio.lowlevel.checkpoint()
                now = perf_counter_ns()
                longest, last = max(longest, (now - last) / 1e6), now

        nursery.start_soon(beat)
        await read_reply(reply, LLMRequest("p/m", ()), "all", 0)
        nursery.cancel_scope.cancel()
    return floor, longest
