"""What thousands of open pages that wait for news cost the gateway in memory, beside the gateway without any."""

from __future__ import annotations

import resource
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import trio

from benchmarks.figures import Bar, Figure, Run
from benchmarks.served.asking import Connection, connected, log_in
from benchmarks.served.serving import Serving, configure, serving

STREAMS, AT_ONCE = 5000, 20
SPARE_FILES = 500
SETTLE_S = 1.0
SNAPSHOT = b"event: snapshot\n"
IDLE = Bar("5,000 idle streams of events, on top", "the gateway", "MB", 200.0, absolute=True, main=True)


async def measure(run: Run) -> list[Figure]:
    count = run.times(STREAMS)
    _allow_files(count + SPARE_FILES)
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as name:
        configure(Path(name))
        with serving(Path(name)) as gateway:
            headers = await log_in(gateway.host, gateway.port, 0)
            async with AsyncExitStack() as stack:
                await _open(stack, gateway, headers, range(1))
                before = gateway.resident_mb
                await _open(stack, gateway, headers, range(1, 1 + count))
                await trio.sleep(SETTLE_S)
                return [IDLE.judged([(before, gateway.resident_mb - before)])]


def _allow_files(count: int) -> None:
    """For this process and what it starts. Raises ValueError where the machine does not let it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


async def _open(stack: AsyncExitStack, gateway: Serving, headers: str, numbers: range) -> None:
    """Each has heard how its chat stands when this returns."""
    left = iter(numbers)

    async def some() -> None:
        for number in left:
            connection = await stack.enter_async_context(connected(gateway.host, gateway.port))
            await _listen(connection, f"/api/chats/c{number}/events", headers)

    async with trio.open_nursery() as nursery:
        for _ in range(AT_ONCE):
            nursery.start_soon(some)


async def _listen(connection: Connection, target: str, headers: str) -> None:
    await connection.stream.send_all(connection.request("GET", target, headers))
    data = b""
    while SNAPSHOT not in data or not data.endswith(b"\n\n\r\n"):
        more = await connection.stream.receive_some(1 << 16)
        assert more, f"{target} ended: {data!r}"
        data += more
