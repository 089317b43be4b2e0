"""From nothing to the first response of `hookgate rpc`, beside the imports that a prompt needs."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter_ns

import trio

from benchmarks.figures import Bar, Figure, Pair, Run
from benchmarks.startup import ENVIRONMENT, HOOKGATE, PARTS

STARTS = 9
PING = b'{"id":"1","type":"ping"}\n'
SCRIPT = '{"steps": []}'
CONFIG = '[agent]\nmodel = "p/m"\n[providers.p]\nkind = "scripted"\nscript = "script.json"\n'
FIRST = Bar("`hookgate rpc` to its first response", "importing trio, pydantic, httpx, structlog, orjson", "ms", 1.4)
EXIT_S = 20.0


async def measure(run: Run) -> list[Figure]:
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as folder:
        await trio.Path(folder, "hookgate.toml").write_text(CONFIG)
        await trio.Path(folder, "script.json").write_text(SCRIPT)
        _to_response(folder)
        pairs.extend((_imports(), _to_response(folder)) for _ in range(run.times(STARTS)))
    return [FIRST.judged(pairs)]


def _imports() -> float:
    """Milliseconds from start to exit."""
    started = perf_counter_ns()
    subprocess.run(PARTS, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return (perf_counter_ns() - started) / 1e6


def _to_response(folder: str) -> float:
    """Milliseconds until the answer to a ping that was there from the start."""
    started = perf_counter_ns()
    with open_rpc(folder) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(PING)
        assert b"pong" in child.stdout.readline()
        took = (perf_counter_ns() - started) / 1e6
        child.stdin.close()
        child.wait(EXIT_S)
    return took


def open_rpc(folder: str, extensions: Sequence[Path] = ()) -> subprocess.Popen[bytes]:
    """In a folder that has a configuration; unbuffered, so that a write is one."""
    environment = {**ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parents[1]), "XDG_STATE_HOME": folder}
    named = [word for directory in extensions for word in ("--ext", str(directory))]
    command = [*HOOKGATE, "rpc", "--no-ext", "--compact-done", *named]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
