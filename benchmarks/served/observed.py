"""What it costs to look: a scrape of a gateway with many conversations, and traces of each turn."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter_ns, process_time_ns

import trio

from benchmarks.figures import Bar, Figure, Run
from benchmarks.served.asking import Connection, connected
from benchmarks.served.serving import HEAD
from hookgate import config as configuration
from hookgate.assembly.settings import Settings
from hookgate.protocol.chat import Chat, Inbound
from hookgate.serve.run import Served, open_gateway
from hookgate.telemetry.otlp import EVERY_S

SESSIONS, SCRAPES, TURNS = 1000, 30, 60
LEFT_S = EVERY_S + 0.5
SCRAPE = Bar("`/metrics` with 1,000 sessions, p50", "a file of the page", "ms", 20.0, absolute=True)
TRACES = Bar("CPU time of a turn with traces: model, tool, hook", "the same without", "ms", 1.03)
MORE = """
[channels.web]
kind = "web"
[hooks.processes.echo]
command = ["{echo}"]
intercept = ["before_tool"]
"""
SCRIPT = '{"steps": [{"when": "list", "calls": [{"name": "ls", "arguments": {}}]}]}'
COLLECTOR = """
from http.server import BaseHTTPRequestHandler, HTTPServer

class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Collector)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


async def measure(run: Run) -> list[Figure]:
    return [await _scrapes(run), await _traces(run)]


async def _scrapes(run: Run) -> Figure:
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as name:
        async with _opened(Path(name) / "one", run) as served:
            for number in range(run.times(SESSIONS)):
                await _turn(served, f"chat-{number}", "hello")
            host, _, port = served.address.rpartition(":")
            async with connected(host, int(port)) as connection:
                pairs = [(await _took(connection, "/", run), await _took(connection, "/metrics", run))]
    return SCRAPE.judged(pairs)


async def _took(connection: Connection, path: str, run: Run) -> float:
    """Milliseconds of a request, p50."""
    times, request = list[float](), connection.request("GET", path)
    for _ in range(run.times(SCRAPES)):
        begun = perf_counter_ns()
        status, _head, _body = await connection.ask(request)
        assert status == 200
        times.append((perf_counter_ns() - begun) / 1e6)
    return median(times)


async def _traces(run: Run) -> Figure:
    """Some turns in a gateway, as many in another, and round by round the other way about. By CPU time: what a disk
    takes differs by more than traces cost."""
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as name, _collector() as port:
        plain, traced = Path(name) / "plain", Path(name) / "traced"
        more = f'[telemetry]\ntraces = "http://127.0.0.1:{port}"\n'
        async with _opened(plain, run) as without, _opened(traced, run, more) as sending:
            pairs = list[tuple[float, float]]()
            for number in range(run.rounds):
                if number % 2:
                    spent = await _spent(sending, run)
                    pairs.append((await _spent(without, run), spent))
                else:
                    pairs.append((await _spent(without, run), await _spent(sending, run)))
            exporter = sending.runtime.telemetry.exporter
            assert exporter is not None
            assert (exporter.why, exporter.lost) == ("", 0)
    return TRACES.judged(pairs)


async def _spent(served: Served, run: Run) -> float:
    """Milliseconds of a turn, with what it takes until its spans have left."""
    begun = process_time_ns()
    for number in range(run.times(TURNS)):
        await _turn(served, f"chat-{number % 10}", "list what is here")
    await trio.sleep(run.share * LEFT_S)
    return (process_time_ns() - begun) / 1e6 / run.times(TURNS)


@asynccontextmanager
async def _opened(folder: Path, run: Run, more: str = "") -> AsyncGenerator[Served]:
    file = folder / "hookgate.toml"
    config = HEAD.format(folder=folder) + MORE.format(echo=run.echo) + more
    await trio.to_thread.run_sync(_write, folder, config)
    read, _file = configuration.load(file)
    async with open_gateway(Settings(read, folder, file, serving=True), None, trio.Event()) as served:
        await served.runtime.tried()
        yield served


def _write(folder: Path, config: str) -> None:
    folder.mkdir()
    (folder / "script.json").write_text(SCRIPT)
    (folder / "hookgate.toml").write_text(config)


async def _turn(served: Served, chat: str, text: str) -> None:
    said = Inbound(Chat("web", chat, "u"), text)
    await served.runtime.gateway.receive(said)
    await served.runtime.gateway.idle(f"web:{chat}")


@contextmanager
def _collector() -> Generator[int]:
    """Its port. It reads all, and keeps nothing."""
    with subprocess.Popen([sys.executable, "-c", COLLECTOR], stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()
