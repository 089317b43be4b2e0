"""A child process in its own group with three raw pipes: how it is started and drained."""

from __future__ import annotations

import fcntl
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Protocol

import structlog
import trio

from hookgate.processes import group
from hookgate.processes.last_words import LINES, WARNING
from hookgate.protocol.dataclasses import dataclass

log = structlog.get_logger("hookgate.hooks")

PIPE_BYTES = 1 << 20
"""With the default of 64 KiB a megabyte takes sixteen turns of both sides."""
STDERR_LINE_BYTES = 4096
STDERR_LINES_PER_S = 50
STDERR_READ_BYTES = 1 << 16
LAST_READS = 64

TakeLines = Callable[[Sequence[bytes]], None]
"""Lines without LF. Called from the event loop: it must be quick. An OSError of it ends `open_child`."""


class Runnable(Protocol):
    """A program as it is started, without a shell: `environment` is all that it sees."""

    @property
    def command(self) -> tuple[str, ...]: ...

    @property
    def directory(self) -> str: ...

    @property
    def environment(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Program:
    command: tuple[str, ...]
    directory: str
    environment: Mapping[str, str]


@dataclass
class Pipes:
    """Our ends, non-blocking. `stdin` may be closed before the rest."""

    process: trio.Process
    stdin: int
    stdout: int
    stderr: int
    stdin_closed: bool = False

    def close_stdin(self) -> None:
        """The polite end: whoever waits to write is woken with ClosedResourceError."""
        if not self.stdin_closed:
            self.stdin_closed = True
            trio.lowlevel.notify_closing(self.stdin)
            os.close(self.stdin)

    async def stop(self) -> None:
        """As `group.stop`, its stdin closed first."""
        self.close_stdin()
        await group.stop(self.process)

    def close(self) -> None:
        """Only when nobody reads any more."""
        self.close_stdin()
        os.close(self.stdout)
        os.close(self.stderr)


async def open_pipes(program: Runnable) -> Pipes:
    """Start it in a session and so a process group of its own. Raises OSError."""
    child_in, ours_in = os.pipe()
    ours_out, child_out = os.pipe()
    ours_err, child_err = os.pipe()
    ours = (ours_in, ours_out, ours_err)
    try:
        process = await _spawn(program, (child_in, child_out, child_err))
    except BaseException:
        for fd in ours:
            os.close(fd)
        raise
    finally:
        for fd in (child_in, child_out, child_err):
            os.close(fd)
    for fd in ours:
        os.set_blocking(fd, False)
    for fd in (ours_in, ours_out):
        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return Pipes(process, *ours)


async def _spawn(program: Runnable, fds: tuple[int, int, int]) -> trio.Process:
    stdin, stdout, stderr = fds
    return await trio.lowlevel.open_process(
        list(program.command),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=program.directory,
        env=dict(program.environment),
        start_new_session=True,
    )


class Stderr:
    """A child's stderr, a line each, long ones cut: drained always, whatever becomes of the lines. `failed`: why they
    could not be taken; then no more are. `run` alone raises it: whoever ends the child must come to its end."""

    def __init__(self, fd: int, take: TakeLines) -> None:
        self.failed: OSError | None = None
        self._fd, self._take = fd, take
        self._tail = b""
        self._last: deque[bytes] = deque(maxlen=LINES)

    def last_words(self) -> tuple[str, ...]:
        """Its last lines by now, without blank ones."""
        self._catch_up()
        lines = [*self._last, *([self._tail] if self._tail.strip() else ())]
        return tuple(line.decode("utf-8", "replace") for line in lines[-LINES:])

    async def run(self) -> None:
        """Until the stream ends. Raises OSError, see `failed`."""
        ended = False
        while not ended:
            await trio.lowlevel.wait_readable(self._fd)
            ended = self._read() == b""
            if self.failed is not None:
                raise self.failed

    def drain(self) -> None:
        """What an ended process has left; a grandchild outside the group may write for ever."""
        self._catch_up()
        if self._tail:
            self._give([self._tail])
            self._tail = b""

    def _catch_up(self) -> None:
        for _ in range(LAST_READS):
            if not self._read():
                break

    def _read(self) -> bytes | None:
        try:
            data = os.read(self._fd, STDERR_READ_BYTES)
        except BlockingIOError:
            return None
        *lines, tail = (self._tail + data).split(b"\n")
        self._tail = tail[:STDERR_LINE_BYTES]
        if lines:
            self._give(cut := [line[:STDERR_LINE_BYTES] for line in lines])
            self._last.extend([line for line in cut[-LAST_READS:] if line.strip()][-LINES:])
        return data

    def _give(self, lines: Sequence[bytes]) -> None:
        if self.failed is None:
            try:
                self._take(lines)
            except OSError as error:
                self.failed = error


def logged_lines(name: str) -> TakeLines:
    """Lines of a hook's stderr into the log, thinned out when they come too fast."""
    budget = _Budget()

    def take(lines: Sequence[bytes]) -> None:
        for line in lines:
            if budget.spend(name):
                text = line.decode("utf-8", "replace")
                tell = log.warning if text.startswith(WARNING) else log.info
                tell("hook_stderr", hook=name, line=text.removeprefix(WARNING))

    return take


class _Budget:
    """Lines per second; what is over is counted and reported once it is over."""

    def __init__(self) -> None:
        self._since, self._spent, self._lost = 0.0, 0, 0

    def spend(self, name: str) -> bool:
        now = monotonic()
        if now - self._since >= 1:
            if self._lost:
                log.warning("hook_stderr_thinned", hook=name, lines_lost=self._lost)
            self._since, self._spent, self._lost = now, 0, 0
        self._spent += 1
        self._lost += self._spent > STDERR_LINES_PER_S
        return self._spent <= STDERR_LINES_PER_S
