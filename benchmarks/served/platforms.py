"""A hundred chats on each chat platform's fake, which keeps people and gateways to the platform's own limits; and two
platforms beside each other, one of which refuses everything for ten minutes.

The fakes are those of the tests, judged there by the platforms' own client libraries.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from time import perf_counter

import click
import trio

from benchmarks.figures import Bar, Figure, Run, quantile
from benchmarks.served.load import syncs
from benchmarks.served.serving import HEAD, LIMITS
from benchmarks.startup import ENVIRONMENT
from tests.chaos.platform import Platform
from tests.chaos.platforms import PLATFORMS
from tests.crash.killing import address_of

CHATS, MESSAGES, EVERY_S = 100, 5, 5.0
"""Each chat says something so often: twenty messages a second, below what the narrowest platform lets out."""
LEAST_S = 1.5
"""So often where there are few chats."""
ANSWERS_S = 120.0
ASKED = 10
LOOK_S = 0.005
BESIDE_MS, REFUSED_S = 50.0, 600.0
WARM = "answer 0"
SCRIPT = {"steps": [{"when": "message (\\d+)$", "text": "answer $1"}]}


async def measure(run: Run) -> list[Figure]:
    figures = list[Figure]()
    for name in PLATFORMS:
        figures += await _of_platform(name, run)
    return [*figures, await _beside(run)]


async def _of_platform(name: str, run: Run) -> list[Figure]:
    chats, messages = max(2, run.times(CHATS)), max(2, run.times(MESSAGES))
    wrong = Bar(
        f"{chats} chats on {name} at its limits: messages lost, doubled or out of order",
        "none",
        "",
        0.0,
        absolute=True,
    )
    stored = Bar(
        f"{chats} chats on {name}: from an update to its stored acknowledgement, p95",
        *("a bare fsync, p95", "ms", 20.0),
        absolute=True,
        and_times=1.0,
    )
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as folder:
        async with PLATFORMS[name](Random(7), chats, limited=True) as platform, _serving(Path(folder), platform):
            await _turn(platform, 0)
            before = len(platform.acknowledged_ms)
            synced = await trio.to_thread.run_sync(syncs, Path(folder))
            await _talk(platform, messages)
            with trio.move_on_after(ANSWERS_S):
                await _until(lambda: all(len(_answers(platform, chat)) >= messages for chat in platform.chats))
            wanted = [f"answer {number}" for number in range(1, messages + 1)]
            read = {chat: _answers(platform, chat) for chat in platform.chats}
            faults = sum(_faults(answers, wanted) for answers in read.values())
            for chat, answers in read.items():
                if answers != wanted:
                    click.echo(f"{name}, chat {chat} reads: {', '.join(answers) or 'nothing'}", err=True)
            acknowledged = quantile(platform.acknowledged_ms[before:], 0.95)
    return [wrong.judged([(chats * messages, faults)]), stored.judged([(quantile(synced, 0.95), acknowledged)])]


async def _talk(platform: Platform, messages: int) -> None:
    random, every_s = Random(7), max(LEAST_S, EVERY_S * len(platform.chats) / CHATS)
    for number in range(1, messages + 1):
        for chat in random.sample(platform.chats, len(platform.chats)):
            platform.say(chat, f"message {number}")
            await trio.sleep(every_s / len(platform.chats))


def _answers(platform: Platform, chat: str) -> list[str]:
    return [it.text for it in platform.read(chat) if it.text != WARM]


def _faults(read: Sequence[str], wanted: Sequence[str]) -> int:
    """How many are not there, there again, or not where they should be."""
    if list(read) == list(wanted):
        return 0
    missing = len(set(wanted) - set(read))
    again = len(read) - len(set(read))
    return missing + again or 1


async def _beside(run: Run) -> Figure:
    """The turn on one platform while another refuses everything, against the same turn before that."""
    first, *others = PLATFORMS
    other = others[0] if others else first
    bar = Bar(
        f"what ten minutes of 429 on {first} add to a turn on {other}", "the turn", "ms", BESIDE_MS, absolute=True
    )
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as folder:
        async with (
            PLATFORMS[first](Random(7), max(2, run.times(CHATS))) as refusing,
            PLATFORMS[other](Random(7), 1, name="beside") as free,
            _serving(Path(folder), refusing, free),
        ):
            alone = [await _turn(free, number) for number in range(run.times(ASKED))]
            refusing.refuse(REFUSED_S)
            for chat in refusing.chats:
                refusing.say(chat, "message 1")
            await _until(lambda: refusing.refusals >= len(refusing.chats))
            beside = [await _turn(free, number + len(alone)) for number in range(run.times(ASKED))]
    return bar.judged([(max(alone), max(0.0, max(beside) - max(alone)))])


async def _turn(platform: Platform, number: int) -> float:
    chat, began = platform.chats[0], perf_counter()
    platform.say(chat, f"message {number}")
    await _until(lambda: f"answer {number}" in {it.text for it in platform.read(chat)})
    return (perf_counter() - began) * 1000


async def _until(holds: Callable[[], bool]) -> None:
    """No fake rings when something stands there: it is looked for."""
    with trio.fail_after(ANSWERS_S):
        while not holds():  # noqa: ASYNC110
            await trio.sleep(LOOK_S)


@asynccontextmanager
async def _serving(folder: Path, *platforms: Platform) -> AsyncGenerator[None]:
    """A gateway of these platforms, once it receives what is said there."""
    sections = "".join(it.sections for it in platforms)
    (folder / "hookgate.toml").write_text(HEAD.format(folder=folder) + LIMITS + sections)
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    environment = {**ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parents[2]), "XDG_RUNTIME_DIR": str(folder)}
    for platform in platforms:
        environment |= platform.variables
    with (folder / "serve.log").open("ab") as log:
        process = await trio.lowlevel.open_process(
            [sys.executable, "-m", "hookgate", "serve"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        assert await address_of(process), (folder / "serve.log").read_text()
        yield
    finally:
        with trio.CancelScope(shield=True):
            process.terminate()
            with trio.move_on_after(30):
                await process.wait()
            process.kill()
            await process.wait()
