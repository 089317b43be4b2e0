"""What a gateway adds to a chat completion: to the whole of one without tools, and to each piece of many streams.

Pieces come once all streams have begun, so that none waits for the burst of beginnings, which the whole has.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import trio

from benchmarks.figures import Bar, Figure, Pair, Run, quantile
from benchmarks.served.asking import Connection, connected
from benchmarks.served.model import now_us
from benchmarks.served.serving import address_of, configure, serving
from benchmarks.startup import ENVIRONMENT, HOOKGATE

ASKED, CLIENTS, PIECES, PAUSE_S = 200, 500, 20, 0.25
WHOLE = Bar("a chat completion without tools, p50, on top", "the same asked of the model", "ms", 5.0, absolute=True)
PIECE = Bar(
    f"each piece of {CLIENTS} completions streamed at once, p95, on top",
    "the same from the model itself, p95",
    *("ms", 30.0),
    absolute=True,
)
STAMP = re.compile(rb'"content":"((?:\d+ ?)+)"')
CHANNEL = """
[channels.api]
kind = "openai"
"""
BODY = b'{"model":"%s","messages":[{"role":"user","content":"Hello."}],"stream":true}'


@dataclass(frozen=True, slots=True)
class _Server:
    """`request`: the bytes of a request for a completion."""

    host: str
    port: int
    headers: str
    model: bytes

    def request(self, connection: Connection) -> bytes:
        return connection.request("POST", "/v1/chat/completions", self.headers, BODY % self.model)


async def measure(run: Run) -> list[Figure]:
    with _model(1, 0.0, 1) as model, _gateway(model) as ours:
        whole = [(await _wholes(model, run), await _wholes(ours, run)) for _ in range(run.rounds)]
    with _model(run.times(PIECES), PAUSE_S, run.times(CLIENTS)) as model, _gateway(model) as ours:
        pieces = [await _streams(model, run), await _streams(ours, run)]
    return [WHOLE.judged([_on_top(it) for it in whole]), PIECE.judged([_on_top((pieces[0], pieces[1]))])]


def _on_top(pair: Pair) -> Pair:
    floor, value = pair
    return floor, max(0.0, value - floor)


async def _wholes(server: _Server, run: Run) -> float:
    """Milliseconds of one, p50."""
    took = list[float]()
    async with connected(server.host, server.port) as connection:
        for _ in range(run.times(ASKED)):
            began = perf_counter_ns()
            await _read(server, connection)
            took.append((perf_counter_ns() - began) / 1e6)
    return quantile(took, 0.5)


async def _streams(server: _Server, run: Run) -> float:
    """Milliseconds that a piece was under way, p95. Raises AssertionError where one is lost."""
    late, count, expected = list[float](), run.times(CLIENTS), run.times(PIECES)

    async def listen() -> None:
        async with connected(server.host, server.port) as connection:
            got = await _read(server, connection)
        assert len(got) == expected, f"{len(got)} of {expected} pieces came"
        late.extend(got)

    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(listen)
    return quantile(late, 0.95)


async def _read(server: _Server, connection: Connection) -> list[float]:
    """How many milliseconds each piece was under way."""
    await connection.stream.send_all(server.request(connection))
    late, data = list[float](), b""
    while not data.endswith(b"0\r\n\r\n"):
        more = await connection.stream.receive_some(1 << 16)
        assert more, f"it ended: {data!r}"
        now, data = now_us(), data + more
        # A stamp that is cut comes whole with the rest of its line.
        found = list(STAMP.finditer(data))
        late += [(now - int(stamp)) / 1000 for it in found for stamp in it[1].split()]
        data = data[found[-1].end() :] if found else data
    return late


@contextmanager
def _model(pieces: int, pause_s: float, together: int) -> Generator[_Server]:
    command = [sys.executable, "-m", "benchmarks.served.model", str(pieces), str(pause_s), str(together)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield _Server(*address_of(process), "", b"m")
        finally:
            process.kill()


@contextmanager
def _gateway(model: _Server) -> Generator[_Server]:
    """With a key for its channel."""
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as name:
        folder = Path(name)
        configure(folder, CHANNEL)
        file = folder / "hookgate.toml"
        provider = f'kind = "openai"\nbase_url = "http://{model.host}:{model.port}/v1"\n'
        text = file.read_text().replace('kind = "scripted"\nscript = "script.json"\n', provider)
        # One key leaves a place to others.
        file.write_text(text.replace("max_turns = 64", f"max_turns = {CLIENTS + 1}"))
        environment = {**ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parents[2]), "XDG_STATE_HOME": name}
        add = [*HOOKGATE, "keys", "add", "bench", "--channel", "api"]
        key = subprocess.run(add, cwd=folder, env=environment, check=True, capture_output=True).stdout.split()[0]
        with serving(folder) as gateway:
            headers = f"authorization: Bearer {key.decode()}\r\n"
            yield _Server(gateway.host, gateway.port, headers, b"hookgate")
