"""A gateway at work: 200 pages, 40 messages a second, three hooks, a model that takes half a second; and its memory.

`python -m benchmarks load --share 10` is ten minutes of it.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from statistics import mean
from time import perf_counter

import trio

from benchmarks.bystanders import STAGES
from benchmarks.figures import Bar, Figure, Run, quantile
from benchmarks.served.asking import Connection, connected, log_in
from benchmarks.served.serving import USERS, Serving, configure, serving

SESSIONS, EVERY_S = 200, 5.0
"""Each session says something so often: 40 messages a second."""
RENEWED_AFTER = 5
"""Messages, and then its conversation begins anew; else all of them would only grow."""
WHOLE_S, LEAST_S = 60.0, 3.0
SENDERS = 32
MODEL_MS, ANSWER_S = 500, 30.0
SYNCS, BLOCK = 150, b"x" * 4096
LOOK_S = 0.25
ANSWERS = re.compile(rb'"answers":"(k\d+x\d+)"')
TAIL = 64
"""More than what is looked for is long."""
LOAD = "200 sessions, 40 messages a second, three hooks, a model of 500 ms"
ADDED = Bar(
    f"{LOAD}: what the gateway adds, p95", "a bare fsync, p95", "ms", 30.0, absolute=True, and_times=3.0, main=True
)
GROWN = Bar("what 1,000 of these turns add to its memory", "the gateway at work", "MB", 2.0, absolute=True, main=True)
SCRIPT = f'{{"pace_s": {MODEL_MS / 1000}, "steps": [{{"when": "(?s).", "text": "Understood."}}]}}'
HOOK = """
[hooks.processes.hook{number}]
command = ["{command}"]
intercept = {stages}
required = true
"""


@dataclass
class Heard:
    """`sent`: when each message without an answer yet was to be sent, by its key. `added_ms`: beyond what the model
    takes. `sizes`: how many were answered, and the gateway's size in MB then."""

    sent: dict[str, float] = field(default_factory=dict[str, float])
    added_ms: list[float] = field(default_factory=list[float])
    sizes: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    _news: trio.Event = field(default_factory=trio.Event)

    def answered(self, key: str) -> None:
        at = self.sent.pop(key, None)
        if at is not None:
            self.added_ms.append((perf_counter() - at) * 1000 - MODEL_MS)
            self._news.set()

    async def all(self) -> None:
        """Until nothing is without its answer."""
        while self.sent:
            self._news = trio.Event()
            await self._news.wait()


async def measure(run: Run) -> list[Figure]:
    sessions = min(SESSIONS, max(USERS, run.times(SESSIONS)))
    whole_s = max(LEAST_S, WHOLE_S * run.share)
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as name:
        folder = Path(name)
        hooks = (HOOK.format(number=number, command=run.echo, stages=STAGES) for number in range(3))
        configure(folder, "".join(hooks), SCRIPT)
        synced = await trio.to_thread.run_sync(syncs, folder)
        with serving(folder) as gateway:
            heard = await _load(gateway, sessions, whole_s)
        synced += await trio.to_thread.run_sync(syncs, folder)
    begun = len(heard.added_ms) // 6
    added = quantile(heard.added_ms[begun:], 0.95)
    return [ADDED.judged([(quantile(synced, 0.95), added)]), GROWN.judged([_growth(heard.sizes)])]


def syncs(folder: Path) -> list[float]:
    """Milliseconds of each: a page written to the end of a file, and on the disk."""
    took: list[float] = []
    file = os.open(folder / "synced", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        for _ in range(SYNCS):
            os.write(file, BLOCK)
            began = perf_counter()
            os.fsync(file)
            took.append((perf_counter() - began) * 1000)
    finally:
        os.close(file)
    return took


def _growth(sizes: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Megabytes that the gateway had, and those that 1,000 turns added, once it was warm: by the means of the third
    and the last quarter of the time, since it takes memory by pages."""
    quarter = len(sizes) // 4
    third, last = sizes[-2 * quarter : -quarter], sizes[-quarter:]
    turns = mean(it[0] for it in last) - mean(it[0] for it in third)
    before, after = mean(it[1] for it in third), mean(it[1] for it in last)
    return before, max(0.0, (after - before) / max(turns, 1.0) * 1000)


async def _load(gateway: Serving, sessions: int, whole_s: float) -> Heard:
    """A message that has no answer in the end counts for as long as that was waited for."""
    heard = Heard()
    heads = [await log_in(gateway.host, gateway.port, user) for user in range(USERS)]
    async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
        for session in range(sessions):
            page = await stack.enter_async_context(connected(gateway.host, gateway.port))
            await page.stream.send_all(page.request("GET", f"/api/chats/c{session}/events", heads[session % USERS]))
            assert b" 200 " in await page.stream.receive_some(1 << 16)
            nursery.start_soon(_listen, page.stream, heard)
        give, take = trio.open_memory_channel[Connection](SENDERS)
        for _ in range(SENDERS):
            give.send_nowait(await stack.enter_async_context(connected(gateway.host, gateway.port)))
        nursery.start_soon(_look, gateway, heard)
        async with trio.open_nursery() as sending:
            await _send_all(sending, Senders(give, take, heads, heard), sessions, whole_s)
        with trio.move_on_after(ANSWER_S):
            await heard.all()
        for key in tuple(heard.sent):
            heard.answered(key)
        nursery.cancel_scope.cancel()
    return heard


@dataclass(frozen=True)
class Senders:
    """Connections that wait for something to send; `heads`: those of requests, by user."""

    give: trio.MemorySendChannel[Connection]
    take: trio.MemoryReceiveChannel[Connection]
    heads: Sequence[str]
    heard: Heard

    async def send(self, session: int, number: int) -> None:
        """Its message of this number, counted from when it is due, whether a connection is free then or not."""
        key, waits = f"k{session}x{number}", any(it.startswith(f"k{session}x") for it in self.heard.sent)
        renews = (number + session) % RENEWED_AFTER == 0 and not waits
        if not renews:
            self.heard.sent[key] = perf_counter()
        body = f'{{"key":"{key}","text":"{"/new" if renews else TEXT}"}}'.encode()
        connection = await self.take.receive()
        target = f"/api/chats/c{session}/messages"
        status, _, said = await connection.ask(
            connection.request("POST", target, self.heads[session % USERS], body=body)
        )
        assert status == 202, f"{target} was answered with {status}: {said!r}"
        self.give.send_nowait(connection)


TEXT = "What does the notice of yesterday mean for those who have signed before? " * 4


async def _send_all(sending: trio.Nursery, senders: Senders, sessions: int, whole_s: float) -> None:
    """One session after the other, at random moments, however long answers take."""
    random, due, end = Random(7), trio.current_time(), trio.current_time() + whole_s
    for number in count():
        due += random.expovariate(sessions / EVERY_S)
        if due > end:
            return
        await trio.sleep_until(due)
        sending.start_soon(senders.send, number % sessions, number // sessions)


async def _listen(stream: trio.SocketStream, heard: Heard) -> None:
    tail = b""
    while data := await stream.receive_some(1 << 16):
        for key in ANSWERS.findall(tail + data):
            heard.answered(key.decode())
        tail = (tail + data)[-TAIL:]
    raise EOFError("the gateway has ended a stream of events")


async def _look(gateway: Serving, heard: Heard) -> None:
    while True:
        heard.sizes.append((len(heard.added_ms), gateway.resident_mb))
        await trio.sleep(LOOK_S)
