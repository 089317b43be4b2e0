"""A ping of `hookgate rpc` there and back, beside a Python child that echoes lines as fast as it can."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from time import perf_counter_ns
from typing import IO

import trio

from benchmarks.cores import cores_apart
from benchmarks.figures import Bar, Figure, Pair, Run, quantile
from benchmarks.rpc_start import CONFIG, SCRIPT, open_rpc

PINGS, WARM_UP = 2000, 100
PING = b'{"id":"1","type":"ping"}\n'
ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()\n"
PING_BAR = Bar("`ping` over RPC, there and back", "a line that a Python child echoes, blocking", "µs", 3.0)
OPENED = b'{"id":"0","type":"compact"}\n'
"""Answered once everything is open, so that no import runs beside what is measured."""


async def measure(run: Run) -> list[Figure]:
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as folder:
        await trio.Path(folder, "hookgate.toml").write_text(CONFIG)
        await trio.Path(folder, "script.json").write_text(SCRIPT)
        with cores_apart() as part, _open_echo() as echo, open_rpc(folder) as rpc:
            part()
            _open(rpc)
            times = run.times(PINGS)
            pairs.extend((_each(echo, times), _each(rpc, times)) for _ in range(run.times(run.rounds)))
            for child in (echo, rpc):
                assert child.stdin
                child.stdin.close()
    return [PING_BAR.judged(pairs)]


def _open_echo() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", ECHO]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


def _open(rpc: subprocess.Popen[bytes]) -> None:
    assert rpc.stdin
    assert rpc.stdout
    rpc.stdin.write(OPENED)
    while b'"done"' not in rpc.stdout.readline():
        pass


def _each(child: subprocess.Popen[bytes], times: int) -> float:
    """Microseconds there and back, the median."""
    assert child.stdin
    assert child.stdout
    for _ in range(min(WARM_UP, times)):
        _once(child.stdin, child.stdout)
    return quantile([_once(child.stdin, child.stdout) for _ in range(times)], 0.5)


def _once(there: IO[bytes], back: IO[bytes]) -> float:
    started = perf_counter_ns()
    there.write(PING)
    while not back.read(65536).endswith(b"\n"):
        pass
    return (perf_counter_ns() - started) / 1e3
