"""What a thousand conversations that have been answered and wait cost in memory, beside an empty gateway."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import trio

from benchmarks.chatting import open_chatting, say
from benchmarks.figures import Bar, Figure, Run
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.sections import LogSection

SESSIONS = 1000
IDLE = Bar("1,000 idle sessions, on top", "an empty gateway", "MB", 60.0, absolute=True, main=True)


async def measure(run: Run) -> list[Figure]:
    """Each time in a process of its own: what other benchmarks leave behind is no gateway's."""
    command = [sys.executable, "-m", __name__, str(run.times(SESSIONS))]
    pairs = [await trio.to_thread.run_sync(_sizes, command) for _ in range(run.times(5))]
    return [IDLE.judged([(empty, full - empty) for empty, full in pairs])]


def _sizes(command: list[str]) -> tuple[float, float]:
    empty, full = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.split()
    return float(empty), float(full)


async def _fill(sessions: int) -> None:
    """Prints the resident size, in MB, before and after."""
    async with open_chatting({}) as runtime:
        print(_resident())
        for number in range(sessions):
            await say(runtime, f"chat-{number}", "hello")
        assert len(runtime.gateway.sessions) == sessions
        gc.collect()
        print(_resident())


def _resident() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    set_up_logs(LogSection())
    trio.run(_fill, int(sys.argv[1]))
