"""A hook process under check: raw writes in, answers by id out. Knows no stage and no verdict."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager

import trio

from hookgate.check.mailbox import Answered, Mailbox, StrayOutput
from hookgate.processes import group
from hookgate.processes.child import Child, open_child
from hookgate.processes.deadlines import Deadlines
from hookgate.processes.pipes import Program, open_pipes
from hookgate.processes.rounds import open_rounds

STDERR_LINES = 20
END_WAIT_S = 0.3


class HookGone(Exception):
    """The process ended, or closed a pipe; the text says which."""


class NoAnswer(Exception):
    """Nothing came in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s")


@asynccontextmanager
async def open_subject(start: Program, heard: StrayOutput, patience_s: float) -> AsyncGenerator[Subject]:
    """A started process, before any hello. Leaving ends its whole group and reaps it. Raises OSError."""
    child = Child(await open_pipes(start))
    async with open_rounds() as rounds:
        hook = Subject(child, Mailbox(heard), patience_s, rounds.deadlines)
        async with open_child(child, hook, hook.hear, rounds.reads):
            yield hook


class Subject:
    """One conversation, held by one task. `patience_s` is how long a call waits unless it says otherwise."""

    def __init__(self, child: Child, mailbox: Mailbox, patience_s: float, deadlines: Deadlines) -> None:
        self.pipes = child.pipes
        self.mailbox = mailbox
        self.patience_s = patience_s
        self.deadlines = deadlines
        self._child = child
        self._news = trio.Event()
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)

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
                self._child.cut("it closed its stdin")
                await self._child.ended.wait()
                raise HookGone(self._child.end_reason) from None

    async def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            if self.mailbox.owed:
                await self.write(self.mailbox.owed.pop(0))
            elif self._child.ended.is_set():
                raise HookGone(self._child.end_reason)
            else:
                self._news = trio.Event()
                await self._news.wait()

    # --- listening, as the child's conversation ---

    def take(self, data: bytes) -> int:
        """What is a flood is counted by the line, over the whole run."""
        self.mailbox.receive(data)
        self._news.set()
        if self.mailbox.heard.flooded:
            self._child.end("it floods its stdout")
        return 0

    def hear(self, lines: Sequence[bytes]) -> None:
        self._stderr.extend(line.decode("utf-8", "replace") for line in lines if line)

    def abandon(self, reason: str) -> None:
        self._news.set()

    async def run_writer(self) -> None:
        """Whoever asks writes."""

    async def introduce(self) -> str | None:
        """To say hello is a check."""
        return None

    async def leave(self) -> None:
        """It is asked politely; whether it goes in time is a check of its own."""
        self.pipes.close_stdin()
        with trio.move_on_after(END_WAIT_S):
            await self.pipes.process.wait()
        await group.end(self.pipes.process, 0.0)
