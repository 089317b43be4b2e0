"""What Ctrl-Z stops under a guardian: a shell sees the guardian alone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import trio

from tests.processes import below, until

STOPS = """
import os, signal
from hookgate.processes.guardian import guardian

guardian.STOP_S = {seconds}

def stop(number, _frame):
    os.write(1, b"told")
    os.read(0, 1)
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)

with guardian.under_guardian():
    signal.signal(signal.SIGTSTP, stop)
    os.write(1, b"ready")
    os.read(0, 1)
"""


@asynccontextmanager
async def told_to_stop(seconds: float) -> AsyncGenerator[tuple[trio.Process, trio.abc.SendStream]]:
    """As by Ctrl-Z: a program that stops once a byte has come, and ends with another one, under a guardian that waits
    for that so many seconds."""
    program = STOPS.format(seconds=seconds)
    with trio.fail_after(30):
        process = await trio.lowlevel.open_process(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
        )
        assert process.stdin is not None
        assert process.stdout is not None
        async with process.stdin, process.stdout:
            try:
                assert await process.stdout.receive_some() == b"ready"
                os.killpg(process.pid, signal.SIGTSTP)
                assert await process.stdout.receive_some() == b"told"
                yield process, process.stdin
                os.killpg(process.pid, signal.SIGCONT)
                await process.stdin.send_all(b"x")
                assert await process.wait() == 0
            finally:
                with trio.CancelScope(shield=True), suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()


def stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def waits(number: signal.Signals, pid: int) -> bool:
    """Whether the process has yet to take the signal, which was sent to it."""
    (pending,) = re.findall(r"^ShdPnd:\s+(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.M)
    return bool(int(pending, 16) & 1 << number - 1)


async def test_a_shell_that_sees_a_program_stopped_has_the_terminal_for_itself() -> None:
    """Whatever is typed there then is the shell's, though hookgate itself takes a while to stop."""
    async with told_to_stop(60.0) as (process, go_on):
        with trio.move_on_after(0.3) as watched:
            await until(lambda: stopped(process.pid))
        assert watched.cancelled_caught
        await go_on.send_all(b"x")
        await until(lambda: stopped(process.pid))
        assert [stopped(it.pid) for it in below(process.pid)] == [True]


async def test_a_shell_need_not_wait_for_what_cannot_stop() -> None:
    """As hookgate while a child that it starts has been stopped before it began."""
    async with told_to_stop(0.1) as (process, go_on):
        await until(lambda: stopped(process.pid))
        assert [stopped(it.pid) for it in below(process.pid)] == [False]
        await go_on.send_all(b"x")
        await until(lambda: [stopped(it.pid) for it in below(process.pid)] == [True])


async def test_no_shell_sees_a_program_stopped_that_was_told_to_go_on_before_it_had() -> None:
    async with told_to_stop(0.1) as (process, go_on):
        await until(lambda: not waits(signal.SIGTSTP, process.pid))
        os.killpg(process.pid, signal.SIGCONT)
        with trio.move_on_after(0.5) as watched:
            await until(lambda: stopped(process.pid))
        assert watched.cancelled_caught
        await go_on.send_all(b"x")
        await until(lambda: [stopped(it.pid) for it in below(process.pid)] == [True])
