"""From nothing to `--version` and to the prompt of `hookgate chat`, beside the imports that both start with."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from time import monotonic, perf_counter_ns

import trio

from benchmarks.figures import Bar, Figure, Pair, Run

STARTS = 9
PROMPT_S = 20.0
WELCOME, TYPE_HERE = b"to leave\r\n", b">"
HOOKGATE = [sys.executable, "-m", "hookgate"]
CLICK = [sys.executable, "-c", "import click"]
PARTS = [sys.executable, "-c", "import trio, pydantic, httpx, structlog, orjson"]
VERSION = Bar("`hookgate --version`", "`import click`", "ms", 2.5)
PROMPT = Bar(
    "`hookgate chat` to its prompt", "importing trio, pydantic, httpx, structlog, orjson", "ms", 1.4, main=True
)

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The compiled modules of an installation are kept; without them each start would compile what has changed."""

CONFIG = """
[agent]
model = "local/model"
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
"""


async def measure(run: Run) -> list[Figure]:
    versions: list[Pair] = []
    prompts: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as folder:
        await trio.Path(folder, "hookgate.toml").write_text(CONFIG)
        _to_prompt([*HOOKGATE, "chat"], folder)
        for _ in range(run.times(STARTS)):
            versions.append((_whole(CLICK), _whole([*HOOKGATE, "--version"])))
            prompts.append((_whole(PARTS), _to_prompt([*HOOKGATE, "chat"], folder)))
    return [VERSION.judged(versions), PROMPT.judged(prompts)]


def _whole(command: Sequence[str]) -> float:
    """Milliseconds from start to exit."""
    started = perf_counter_ns()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return (perf_counter_ns() - started) / 1e6


def _to_prompt(command: Sequence[str], folder: str) -> float:
    """Milliseconds until a person at a terminal sees where to type."""
    ours, theirs = pty.openpty()
    started = perf_counter_ns()
    environment = {**ENVIRONMENT, "TERM": "xterm", "XDG_RUNTIME_DIR": folder, "PYTHONPATH": os.getcwd()}
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=theirs, stdout=theirs) as child:
        os.close(theirs)
        try:
            _wait_for_prompt(ours)
            took = (perf_counter_ns() - started) / 1e6
        finally:
            child.kill()
    os.close(ours)
    return took


def _wait_for_prompt(terminal: int) -> None:
    """Raises TimeoutError, and OSError where the child ends before it asks."""
    seen, deadline = b"", monotonic() + PROMPT_S
    while TYPE_HERE not in seen.partition(WELCOME)[2]:
        if not select.select([terminal], [], [], max(0.0, deadline - monotonic()))[0]:
            raise TimeoutError(f"no prompt within {PROMPT_S:g} s, but {seen!r}")
        seen += os.read(terminal, 1 << 16)
