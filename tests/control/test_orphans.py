"""Processes that a gateway takes over from parents that have ended."""

from __future__ import annotations

import subprocess
import sys

import trio

from hookgate.processes.guardian.prctl import keep_orphans
from hookgate.processes.guardian.reaper import ended_children, run_reaper
from tests.processes import until

ORPHANS = "import os\nfor _ in range(3):\n    if os.fork() == 0:\n        {way}os._exit(0)\n"


def test_what_was_taken_over_is_collected_and_what_somebody_waits_for_keeps_its_status() -> None:
    """In a program of its own: in this one it would take over what other tests leave behind."""
    code = "import trio, tests.control.test_orphans as these; trio.run(these.collect)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


async def collect() -> None:
    keep_orphans()
    await trio.run_process(_leaving(""))
    await trio.run_process(_leaving("os.setsid(); "))
    await until(lambda: len(ended_children()) == 6)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_reaper, 0.1)
        for status in range(5):
            ended = await trio.run_process(
                [sys.executable, "-S", "-E", "-c", f"raise SystemExit({status})"], check=False
            )
            assert ended.returncode == status
        await until(lambda: not ended_children())
        nursery.cancel_scope.cancel()


def _leaving(way: str) -> list[str]:
    """A program that leaves three behind which end at once."""
    return [sys.executable, "-S", "-E", "-c", ORPHANS.format(way=way)]
