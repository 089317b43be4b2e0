"""A static file of the page, asked for by many at a time, beside the same file from a bare server."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from time import perf_counter_ns

import trio

from benchmarks.cores import cores_apart
from benchmarks.figures import Bar, Figure, Pair, Run
from benchmarks.served.asking import Connection, connected
from benchmarks.served.serving import address_of, configure, serving

ASKERS, REQUESTS = 8, 500
FILE = Path(__file__).parents[2] / "hookgate" / "channels" / "web" / "static" / "index.html"
STATIC = Bar(
    f"a static file of the page, {ASKERS} at a time", "Starlette on hypercorn and nothing else", "µs", 2.0, main=True
)


async def measure(run: Run) -> list[Figure]:
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as name, cores_apart() as part:
        configure(Path(name))
        with _bare() as bare, serving(Path(name)) as gateway:
            part()
            async with AsyncExitStack() as stack:
                floor = [await stack.enter_async_context(connected(*bare)) for _ in range(ASKERS)]
                ours = [await stack.enter_async_context(connected(gateway.host, gateway.port)) for _ in range(ASKERS)]
                for _ in range(run.rounds):
                    count = run.times(REQUESTS)
                    pairs.append((await _each(floor, count), await _each(ours, count)))
    return [STATIC.judged(pairs)]


@contextmanager
def _bare() -> Generator[tuple[str, int]]:
    command = [sys.executable, "-m", "benchmarks.served.bare", str(FILE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield address_of(process)
        finally:
            process.kill()


async def _each(connections: list[Connection], count: int) -> float:
    """Microseconds a request."""
    left = iter(range(count))
    content = FILE.read_bytes()

    async def ask(connection: Connection) -> None:
        request = connection.request("GET", "/")
        for _ in left:
            status, _head, body = await connection.ask(request)
            assert (status, body) == (200, content)

    begun = perf_counter_ns()
    async with trio.open_nursery() as nursery:
        for connection in connections:
            nursery.start_soon(ask, connection)
    return (perf_counter_ns() - begun) / 1000 / count
