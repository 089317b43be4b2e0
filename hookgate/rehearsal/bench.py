"""How long a hook takes to answer, beside what two pipes and a context switch take anyway."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter_ns
from typing import IO, cast

import trio

from hookgate.processes.pipes import PIPE_BYTES
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.answers import Failed
from hookgate.protocol.hook.peer import request_frame
from hookgate.protocol.hook.stages import Question
from hookgate.rehearsal.subject import Subject

WARM_UP, MOST_TURNS = 50, 10


class BenchFailed(Exception):
    """The hook gave no usable answer, so there is nothing to time; the text says why."""


@dataclass(frozen=True)
class Times:
    """Microseconds a call, of calls that so many callers made at once."""

    callers: int
    p50_us: float
    p99_us: float


async def timed(subject: Subject, question: Question, callers: int, calls: int) -> tuple[Times, Times]:
    """The hook, where each caller asks as soon as it is answered, and its floor; in turns, since both move with what
    the machine does meanwhile. Raises BenchFailed, OSError."""
    hook, echo = list[int](), list[int]()
    turns = max(1, min(MOST_TURNS, calls // callers))
    await _asked(subject, question, callers, WARM_UP)
    for _ in range(turns):
        hook += await _asked(subject, question, callers, calls // turns)
        echo += _floor(question, callers, calls // turns)
    return _times(callers, hook), _times(callers, echo)


async def _asked(subject: Subject, question: Question, callers: int, calls: int) -> list[int]:
    durations, failures = list[int](), list[str]()

    async def ask(count: int) -> None:
        for _ in range(count):
            began = perf_counter_ns()
            answer = await subject.answer(question)
            durations.append(perf_counter_ns() - began)
            if isinstance(answer, Failed):
                failures.append(answer.reason)
                nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for _ in range(callers):
            nursery.start_soon(ask, max(1, calls // callers))
    if failures:
        raise BenchFailed(failures[0])
    return durations


def _floor(question: Question, callers: int, calls: int) -> list[int]:
    """The same bytes to `cat` and back: blocking, without a loop, without JSON. So many are on their way at once.
    Blocks. Raises OSError."""
    frame = request_frame(1, question.stage.method, question.framed_params(5.0))
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as echo:
        stdin, stdout = cast("IO[bytes]", echo.stdin), cast("IO[bytes]", echo.stdout)
        ends = (stdin.fileno(), stdout.fileno())
        for end in ends:
            with suppress(OSError):
                fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        _echoed(ends, frame, callers, WARM_UP)
        durations = _echoed(ends, frame, callers, calls)
        stdin.close()
    return durations


def _echoed(ends: tuple[int, int], frame: bytes, callers: int, calls: int) -> list[int]:
    write, read = ends
    began, durations, rest = deque[int](), list[int](), 0

    def send() -> None:
        began.append(perf_counter_ns())
        left = memoryview(frame)
        while left:
            left = left[os.write(write, left) :]

    for _ in range(min(callers, calls)):
        send()
    sent = len(began)
    while began:
        if not (data := os.read(read, 1 << 16)):
            raise OSError(0, "the echo has ended", "cat")
        rest += len(data)
        while rest >= len(frame) and began:
            rest -= len(frame)
            durations.append(perf_counter_ns() - began.popleft())
            if sent < calls:
                sent += 1
                send()
    return durations


def _times(callers: int, durations: Sequence[int]) -> Times:
    ordered = sorted(durations)
    p50, p99 = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1000 for share in (0.5, 0.99))
    return Times(callers, round(p50, 1), round(p99, 1))
