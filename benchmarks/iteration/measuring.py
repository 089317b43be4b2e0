"""A turn of many iterations through four hooks, as hookgate runs it, beside a loop of the same round trips."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.chatting import Mute, say
from benchmarks.cores import cores_apart
from benchmarks.echo import build
from benchmarks.figures import Bar, Figure, Pair, Run
from benchmarks.iteration.bare import Bare, open_bare
from benchmarks.served.serving import address_of
from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.settings import Ports, Settings
from hookgate.protocol.hook.wire import tool_members
from hookgate.sections import Config

CALLS, TURNS = 20, 10
QUESTION = "What is the weather in Oslo?"
TOOK = re.compile(r"([0-9.]+) us")
ITERATION = Bar(
    "one tool iteration: from the model's reply to its next request, four hooks",
    "httpx on trio and the hooks' round trips, one after the other",
    *("µs", 1.35),
)


async def measure(run: Run) -> list[Figure]:
    """The two take turns, each turn a conversation of its own; what counts is what the model has measured."""
    hook = str(build("hook", run.echo.parent))
    pairs = list[Pair]()
    with cores_apart() as part, _model(run.times(CALLS)) as url:
        async with open_bare(url, ([hook], [hook, "owner"], [hook])) as bare, _open_runtime(url, hook) as runtime:
            part()
            body = _body(runtime)
            for number in range(run.rounds + 1):
                pair = await _pair(bare, runtime, (body, number, run.times(TURNS)))
                # The first round loads what a first turn loads.
                pairs += [pair] if number else []
    return [ITERATION.judged(pairs)]


async def _pair(bare: Bare, runtime: Runtime, load: tuple[dict[str, Any], int, int]) -> Pair:
    """Microseconds of an iteration."""
    (body, number, turns), took = load, (list[float](), list[float]())
    channel = runtime.ports.channels[0]
    assert isinstance(channel, Mute)
    for turn in range(turns):
        answer = await bare.converse({**body, "messages": list(body["messages"])})
        took[0].extend(_read(answer))
        await say(runtime, f"{number}-{turn}", QUESTION)
        assert channel.last is not None
        took[1].extend(_read(channel.last.text))
    return median(took[0]), median(took[1])


def _read(answer: str) -> list[float]:
    took = [float(it) for it in TOOK.findall(answer)]
    assert took, f"no figures in {answer!r}"
    return took


def _body(runtime: Runtime) -> dict[str, Any]:
    """The first request of a turn, as hookgate makes it."""
    agent = runtime.agent
    tools = [tool_members(it) for it in agent.registry.snapshot().specs]
    messages = [{"role": "system", "content": agent.system}, {"role": "user", "content": QUESTION}]
    return {"model": "m", "messages": messages, "tools": tools, "stream": True}


@contextmanager
def _model(calls: int) -> Generator[str]:
    command = [sys.executable, "-m", "benchmarks.iteration.model", str(calls)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            host, port = address_of(process)
            yield f"http://{host}:{port}/"
        finally:
            process.kill()


@asynccontextmanager
async def _open_runtime(url: str, hook: str) -> AsyncGenerator[Runtime]:
    """Two hooks at before_llm, three at before_tool (the tool's owner is the last), one at after_llm, an observer."""
    passes = {"command": [hook], "required": True}
    owner = {"command": [hook, "owner"], "required": True, "intercept": ["before_llm", "before_tool"]}
    hooks = {
        "first": {**passes, "intercept": ["before_llm", "before_tool", "after_llm"], "priority": 1},
        "owner": {**owner, "priority": 2},
        "last": {**passes, "intercept": ["before_tool"], "priority": 3},
        "observer": {**passes, "observe": ["*"]},
    }
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as folder:
        agent = {"model": "local/m", "workspace": folder}
        provider = {"local": {"kind": "openai", "base_url": url}}
        config = Config.model_validate({"agent": agent, "providers": provider, "hooks": {"processes": hooks}})
        async with open_runtime(Settings(config, Path(folder)), Ports((Mute(),))) as runtime:
            await runtime.tried()
            yield runtime
            failed = [name for name, stats in runtime.agent.gate.stats.items() if stats.failures]
            assert not failed, f"calls to {failed} failed, so their figures mean nothing"
