"""stdin and stdout of a program that talks to another: lines in, whole frames out, never blocking the loop.

Both are left in the mode in which they are: others may share them.
"""

from __future__ import annotations

import os
import select
import signal
import stat
from collections import deque
from collections.abc import Awaitable, Callable

import trio

from hookgate.protocol.framing import LineSplitter, Oversize

READ_BYTES = 1 << 16
PIECE_BYTES = 4096
"""A pipe that can be written to takes at least so much without blocking."""
FULL_BYTES = 1 << 20
"""From here on a reader who does not read is waited for."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What ends such a program in order."""

Take = Callable[[bytes | Oversize], bool]
"""Takes a line that is not blank; False: no more are wanted."""


async def read_lines(fd: int, take: Take, room: Callable[[], Awaitable[None]]) -> None:
    """Until the end of the stream; a last line without its end counts too.

    Nothing is read while there is no `room` for answers: who does not read them is not asked for more.
    """
    splitter, open_, cut = LineSplitter(), True, False
    while open_:
        await room()
        data = await _read(fd)
        open_ = bool(data)
        # Most reads are one line, and whoever waits for its answer waits for the splitter too.
        one = not cut and data.find(b"\n") == len(data) - 1
        lines = [data.strip()] if one and data else splitter.feed(data or b"\n")
        cut = not data.endswith(b"\n")
        for line in lines:
            if (isinstance(line, Oversize) or line.strip()) and not take(line):
                return


async def _read(fd: int) -> bytes:
    while True:
        try:
            await trio.lowlevel.wait_readable(fd)
        except OSError:
            # A file is always readable, and epoll refuses to say so.
            await trio.lowlevel.checkpoint()
        try:
            return os.read(fd, READ_BYTES)
        except BlockingIOError:
            continue
        except ConnectionResetError:
            return b""


def hung_up(fd: int) -> bool:
    """Whether nobody can write to what is read here any more, be there something left in it or not."""
    mode = os.fstat(fd).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        # A terminal has somebody at it; a file is whole.
        return not os.isatty(fd)
    poll = select.poll()
    poll.register(fd, select.POLLRDHUP)
    return any(event & (select.POLLHUP | select.POLLRDHUP | select.POLLERR) for _, event in poll.poll(0))


class Writer:
    """Frames in order: at once where nothing waits before them and there is room, else by `run`."""

    def __init__(self, fd: int) -> None:
        self.broken = trio.Event()
        self._fd = fd
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self._waiting: deque[memoryview] = deque()
        self._bytes = 0
        self._moved = 0.0
        self._changed = trio.Event()

    def write(self, frame: bytes) -> None:
        """Never waits, never raises; what nobody can read any more is dropped."""
        if self.broken.is_set():
            return
        rest = memoryview(frame)
        if not self._waiting and len(frame) <= PIECE_BYTES and self._poll.poll(0):
            rest = self._wrote(rest)
        if rest and not self.broken.is_set():
            self._moved = self._moved if self._waiting else trio.current_time()
            self._waiting.append(rest)
            self._bytes += len(rest)
            self._wake()

    async def run(self) -> None:
        """Write what waits, until cancelled."""
        while True:
            while not self._waiting:
                await self._changed.wait()
            await self._writable()
            first = self._waiting.popleft()
            self._bytes -= len(first)
            rest = self._wrote(first)
            if self.broken.is_set():
                self._waiting.clear()
                self._bytes = 0
            elif rest:
                self._waiting.appendleft(rest)
                self._bytes += len(rest)
            if len(rest) < len(first):
                self._moved = trio.current_time()
            self._wake()

    @property
    def full(self) -> bool:
        """As many bytes wait as are waited for."""
        return self._bytes >= FULL_BYTES

    async def room(self) -> None:
        """Until fewer bytes wait than FULL_BYTES."""
        while self.full:
            await self._changed.wait()
        await trio.lowlevel.checkpoint()

    @property
    def waiting_bytes(self) -> int:
        return self._bytes

    @property
    def moved(self) -> float:
        """Since when what waits first does so, or when something was last taken; trio's clock."""
        return self._moved

    async def stuck(self, seconds: float) -> None:
        """Until something has waited for so long from now on, and nothing was taken."""
        began = trio.current_time()
        while True:
            while not self._waiting:
                await self._changed.wait()
            left = max(began, self._moved) + seconds - trio.current_time()
            if left <= 0:
                return
            await trio.sleep(left)

    async def drained(self) -> None:
        """Until everything is written, or nobody reads."""
        while self._waiting and not self.broken.is_set():
            await self._changed.wait()

    async def end_when_gone(self, scope: trio.CancelScope) -> None:
        """Whoever reads has left: nothing more is of use to anybody."""
        await self.gone()
        scope.cancel()

    async def gone(self) -> None:
        """Until whoever reads has closed the other end; for ever where that cannot be seen."""
        if stat.S_ISFIFO(os.fstat(self._fd).st_mode) or stat.S_ISSOCK(os.fstat(self._fd).st_mode):
            await trio.lowlevel.wait_readable(self._fd)
            if any(event & (select.POLLERR | select.POLLHUP) for _, event in self._poll.poll(0)):
                self.broken.set()
        await self.broken.wait()

    async def _writable(self) -> None:
        try:
            await trio.lowlevel.wait_writable(self._fd)
        except OSError:
            await trio.lowlevel.checkpoint()

    def _wrote(self, frame: memoryview) -> memoryview:
        """What is left of it."""
        try:
            return frame[os.write(self._fd, frame[:PIECE_BYTES]) :]
        except BlockingIOError:
            return frame
        except OSError:
            self.broken.set()
            return frame[len(frame) :]

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
