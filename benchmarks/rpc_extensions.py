"""What ten extensions add to the start of `hookgate rpc`, beside the slowest of them by itself.

They start side by side, so they should cost what one does. Nine are ready at once and one takes its time without
working, so that the number of cores does not decide; ten that all work are measured as well, and promise nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter_ns

import trio

from benchmarks.figures import Bar, Figure, Pair, Run
from benchmarks.rpc_start import CONFIG, SCRIPT, open_rpc

STARTS, OTHERS = 7, 9
SLOW_S = 0.3
OPENED = b'{"id":"1","type":"compact"}\n'
"""Its answer comes when the first prompt can start: every extension is ready, or has failed."""
EXIT_S = 20.0

WHAT = "`hookgate rpc` with ten extensions: what they add until a prompt can start"
SLOWEST = Bar(f"{WHAT}, one of them slow", "the slow one alone, from nothing to `ready`", "ms", 1.3)
WORKING = Bar(f"{WHAT}, ten of Python", "one of them alone, from nothing to `ready`", "ms")

SHELL = """
sleep {sleep}
echo '{{"type":"hello","name":"{name}","version":"1"}}'
echo '{{"type":"ready"}}'
while read -r line; do case "$line" in *'"shutdown"'*) exit;; esac; done
"""
PYTHON = """
import json, sys
print(json.dumps({{"type": "hello", "name": "{name}", "version": "1"}}))
print(json.dumps({{"type": "ready"}}), flush=True)
for line in sys.stdin:
    if json.loads(line)["type"] == "shutdown":
        break
"""


async def measure(run: Run) -> list[Figure]:
    slowest: list[Pair] = []
    working: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as name:
        folder = Path(name)
        await trio.Path(folder, "hookgate.toml").write_text(CONFIG)
        await trio.Path(folder, "script.json").write_text(SCRIPT)
        quick = [_shell(folder, f"quick{number}", 0) for number in range(OTHERS)]
        slow = _shell(folder, "slow", SLOW_S)
        python = [_python(folder, f"python{number}") for number in range(OTHERS + 1)]
        _to_open(folder, (slow,))
        for _ in range(run.times(STARTS)):
            without = _to_open(folder, ())
            slowest.append((_to_ready(slow), _added(without, _to_open(folder, (*quick, slow)))))
            working.append((_to_ready(python[0]), _added(without, _to_open(folder, python))))
    return [SLOWEST.judged(slowest), WORKING.judged(working)]


# --- the extensions -----------------------------------------------------------------------------------------


def _shell(folder: Path, name: str, sleep_s: float) -> Path:
    return _extension(folder / name, ["/bin/sh", "run"], SHELL.format(name=name, sleep=sleep_s))


def _python(folder: Path, name: str) -> Path:
    return _extension(folder / name, [sys.executable, "-IS", "run"], PYTHON.format(name=name))


def _extension(directory: Path, command: Sequence[str], program: str) -> Path:
    directory.mkdir()
    manifest = {"name": directory.name, "exec": command[0], "args": command[1:]}
    (directory / "extension.json").write_text(json.dumps(manifest))
    (directory / "run").write_text(program)
    return directory


# --- the times, in milliseconds -----------------------------------------------------------------------------


def _to_ready(directory: Path) -> float:
    manifest = json.loads((directory / "extension.json").read_text())
    started = perf_counter_ns()
    command = [manifest["exec"], *manifest["args"]]
    with subprocess.Popen(command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout
        while b'"ready"' not in child.stdout.readline():
            pass
        took = (perf_counter_ns() - started) / 1e6
        child.communicate(b'{"type":"shutdown"}\n', EXIT_S)
    return took


def _added(without: float, together: float) -> float:
    """Not less than nothing: one start may take longer than another by more than what extensions add."""
    return max(0.0, together - without)


def _to_open(folder: Path, extensions: Sequence[Path]) -> float:
    started = perf_counter_ns()
    with open_rpc(str(folder), extensions) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(OPENED)
        assert b'"started"' in child.stdout.readline()
        took = (perf_counter_ns() - started) / 1e6
        child.stdin.close()
        child.stdout.read()
        child.wait(EXIT_S)
    return took
