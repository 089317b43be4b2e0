"""A hook process under check: raw writes in, answers by id out. Knows no stage and no verdict."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio

from hookgate.check.mailbox import Answered, Heard, Mailbox
from hookgate.processes import group
from hookgate.processes.group import exit_text
from hookgate.processes.pipes import Pipes, Stderr, open_pipes

READ_BYTES = 1 << 20
LAST_READS = 64
"""What an ended process left in the pipe is less; a grandchild may write there for ever."""
STDERR_LINES = 20
EXIT_WAIT_S = 0.5
END_WAIT_S = 0.3
"""A hook is asked to leave politely; whether it does so in time is a check of its own."""


class HookGone(Exception):
    """The process ended, or closed a pipe; the text says which."""


class NoAnswer(Exception):
    """Nothing came in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s")


@dataclass(frozen=True, slots=True)
class Start:
    """How a process is started."""

    command: tuple[str, ...]
    directory: str
    environment: Mapping[str, str]


@asynccontextmanager
async def open_subject(start: Start, heard: Heard, patience_s: float) -> AsyncGenerator[Subject]:
    """A started process, before any hello. Leaving ends its whole group and reaps it. Raises OSError."""
    pipes = await open_pipes(start.command, start.directory, start.environment)
    hook = Subject(pipes, Mailbox(heard), patience_s)
    try:
        async with trio.open_nursery() as nursery:
            for run in (hook.run_reader, hook.run_watch, hook.errors.run):
                nursery.start_soon(run)
            try:
                yield hook
            finally:
                with trio.CancelScope(shield=True):
                    await _end(pipes)
                    hook.errors.drain()
                nursery.cancel_scope.cancel()
    finally:
        pipes.close()


async def _end(pipes: Pipes) -> None:
    pipes.close_stdin()
    with trio.move_on_after(END_WAIT_S):
        await pipes.process.wait()
    await group.end(pipes.process, 0.0)


class Subject:
    """One conversation, held by one task. `patience_s` is how long a call waits unless it says otherwise."""

    def __init__(self, pipes: Pipes, mailbox: Mailbox, patience_s: float) -> None:
        self.pipes = pipes
        self.mailbox = mailbox
        self.patience_s = patience_s
        self._news = trio.Event()
        self._gone = ""
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self.errors = Stderr(pipes.stderr, self._hear)

    @property
    def stderr(self) -> tuple[str, ...]:
        """The last lines of its stderr."""
        return tuple(self._stderr)

    # --- asking ---

    async def call(self, method: str, params: bytes, patience_s: float = 0) -> Answered:
        """Write one request and wait for its answer. Raises NoAnswer, HookGone."""
        call_id, frame = self.mailbox.request(method, params)
        return await self.exchange(frame, call_id, patience_s)

    async def exchange(self, data: bytes, call_id: int, patience_s: float = 0) -> Answered:
        """Write these bytes and wait for the answer to one of the requests in them. Raises NoAnswer, HookGone."""
        seconds = patience_s or self.patience_s
        try:
            with trio.fail_after(seconds):
                await self.write(data)
                await self._until(lambda: call_id in self.mailbox.answers)
        except trio.TooSlowError:
            raise NoAnswer(seconds) from None
        return self.mailbox.answers[call_id]

    async def collect(self, ids: Collection[int], end: float) -> bool:
        """Until all are answered, nothing comes any more, or trio's clock shows `end`; False: nothing came any more.

        Raises HookGone.
        """
        answers = self.mailbox.answers
        with trio.move_on_at(end):
            while missing := {i for i in ids if i not in answers}:
                with trio.move_on_after(self.patience_s) as pause:
                    await self._until(lambda missing=missing: not missing.isdisjoint(answers))
                if pause.cancelled_caught:
                    return False
        return True

    async def write(self, data: bytes) -> None:
        """Every byte, or HookGone; the caller sets the deadline and talks to this process no more if it passes."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self.pipes.stdin, rest) :]
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self.pipes.stdin)
            except OSError:
                raise HookGone(await self._why_gone("it closed its stdin")) from None

    async def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            if self.mailbox.owed:
                await self.write(self.mailbox.owed.pop(0))
            elif self._gone:
                raise HookGone(self._gone)
            else:
                self._news = trio.Event()
                await self._news.wait()

    async def _why_gone(self, otherwise: str) -> str:
        """The exit that usually follows a closed pipe gives the better reason."""
        with trio.move_on_after(EXIT_WAIT_S):
            await self.pipes.process.wait()
        status = self.pipes.process.returncode
        return otherwise if status is None else exit_text(status)

    # --- listening ---

    async def run_reader(self) -> None:
        while self._read() != b"":
            if self.mailbox.heard.flooded:
                return self._end("it floods its stdout")
            await trio.lowlevel.wait_readable(self.pipes.stdout)
        self._end(await self._why_gone("it closed its stdout"))

    async def run_watch(self) -> None:
        """A grandchild may hold the pipes open after the process is gone, so its exit is watched apart."""
        status = await self.pipes.process.wait()
        for _ in range(LAST_READS):
            if not self._read():
                break
        self._end(exit_text(status))

    def _hear(self, lines: Sequence[bytes]) -> None:
        self._stderr.extend(line.decode("utf-8", "replace") for line in lines if line)

    def _read(self) -> bytes | None:
        try:
            data = os.read(self.pipes.stdout, READ_BYTES)
        except BlockingIOError:
            return None
        self.mailbox.receive(data)
        self._news.set()
        return data

    def _end(self, reason: str) -> None:
        self._gone = self._gone or reason
        self._news.set()
