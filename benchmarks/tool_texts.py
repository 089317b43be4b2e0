"""Reading what a model writes: what repair costs where nothing is broken, how it and showing a reply that streams
grow, how long reading holds everybody up."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter_ns, thread_time_ns

import trio
import trio.lowlevel

from benchmarks.figures import Bar, Figure, Pair, Run
from hookgate.loop.calls.reply_calls import read_reply
from hookgate.loop.streaming.streamed_reply import StreamedReply, Watching
from hookgate.loop.streaming.written import Written
from hookgate.protocol.values import LLMReply, LLMRequest, ProposedCall
from hookgate.redaction import Redactor
from hookgate.tools.extract import CallHoldBack
from hookgate.tools.repair import Undecodable, decode_arguments

CAP = 1024 * 1024
TRIES = 3
DOUBLINGS = 3
"""Between the two texts that are compared: what disturbs one of them counts by its third root, and what grows by the
square of a text is 4 all the same."""
VALID = Bar("decoding valid arguments, 4 KB", "`json.loads`", "µs", 1.3)
GROWTH = Bar("repairing twice the text, hostile or not", "half the text", "ms", 2.3)
STREAMED = Bar("showing twice the reply in pieces of 4, hostile or not", "half the reply", "ms", 2.3)
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


REPLY = 128 * 1024
PIECE = 4


def _replies(size: int) -> Sequence[str]:
    """Each has much that may be a call or a secret, and is none, or begins one that never ends."""
    return (
        "Some plain prose, with a few words. " * (size // 36),
        "x " + "<div class='tool'> </think>{ " * (size // 29),
        "```json " + " " * size,
        "`" * size,
        "{" * size,
        '{"name": "x", "list": [1, 2, 3], "text": "a, b"}\n' * (size // 50),
        '["' + "one long string, " * (size // 17),
        "password = " + "a" * size,
        "-----BEGIN PRIVATE KEY-----\n" + "MIIabcd\n" * (size // 8),
    )


async def measure(run: Run) -> list[Figure]:
    valid = [_valid(run.times(2000)) for _ in range(run.rounds)]
    # So that no text is longer than what is read at all.
    size = run.times(CAP - 256) // 2 * 2
    growth = [max(_growth(size, number) for number in range(len(_texts(8)))) for _ in range(max(1, run.rounds // 3))]
    reply = run.times(REPLY)
    streamed = [_streamed(reply) for _ in range(max(1, run.rounds // 3))]
    held = [max([await _held(text) for text in _texts(size)], key=lambda pair: pair[1])]
    grown = (GROWTH.judged([(1.0, ratio) for ratio in growth]), STREAMED.judged([(1.0, it) for it in streamed]))
    return [VALID.judged(valid), *grown, HELD.judged(held)]


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
    least, whole = _texts(size >> DOUBLINGS)[number], _texts(size)[number]
    return _grown(_decode, least, whole)


def _decode(text: str) -> None:
    with contextlib.suppress(Undecodable):
        decode_arguments(text[:CAP], guess=False)


def _streamed(size: int) -> float:
    """The worst of all replies, and of all arguments that a call is written with."""
    texts = zip(_replies(size >> DOUBLINGS), _replies(size), strict=True)
    ratios = [max(_grown(_show, least, whole), _grown(_write, least, whole)) for least, whole in texts]
    return max(ratios)


def _grown(pass_on: Callable[[str], None], least: str, whole: str) -> float:
    """How much longer twice the text takes, by what so many doublings of the least one come to: CPU time, the best of
    several in turn, since only the algorithm is asked about."""
    took = [(_times(pass_on, least), _times(pass_on, whole)) for _ in range(TRIES)]
    shorter, longer = (min(its) for its in zip(*took, strict=True))
    return (longer / max(shorter, 0.05)) ** (1 / DOUBLINGS)


def _times(pass_on: Callable[[str], None], text: str) -> float:
    """Milliseconds of this thread."""
    began = thread_time_ns()
    pass_on(text)
    return (thread_time_ns() - began) / 1e6


def _show(text: str) -> None:
    shown = StreamedReply(Watching(lambda _piece: None), partial(CallHoldBack, "all"), Redactor(["hunter2-hunter2"]))
    for at in range(0, len(text), PIECE):
        shown(text[at : at + PIECE])


def _write(text: str) -> None:
    written, arguments = Written(Redactor(["hunter2-hunter2"])), json.dumps({"content": text})
    for at in range(0, len(arguments), PIECE):
        written.take(arguments[at : at + PIECE])


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
