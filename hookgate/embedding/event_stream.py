"""The events of one prompt or compaction, as whoever asked for it reads them. Knows nothing of how it is opened."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import trio

from hookgate.assembly.settings import Settings
from hookgate.embedding.event_queue import EventQueue
from hookgate.loop.sessions.jobs import Compaction, End, Job, Jobs, Prompt
from hookgate.protocol.rpc.events import Event

if TYPE_CHECKING:
    from hookgate.embedding.conversation import Conversation

MAX_QUEUED = 64


class Busy(Exception):
    """Something runs or waits, so that this cannot be done now; or too much waits already."""


class Line:
    """An open conversation, the work that waits for it, and where the events of what runs go, and those between."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.jobs = Jobs(MAX_QUEUED)
        self.queue = self.between = EventQueue()
        self.conversation: Conversation

    def show(self, event: Event) -> bool:
        """What belongs to no job: with the one that runs, else with the next. Whether there was room for it."""
        return (self.between if self.queue.closed else self.queue).offer(event)


class Events:
    """The events of one prompt or compaction, to its `done`.

    Leaving early, by `aclose`, by leaving an `async with` or by letting go of it, cancels what runs.
    """

    def __init__(self, line: Line, work: Prompt | Compaction) -> None:
        self._told = _Told(line)
        self._job = Job(work, self._told)
        self._jobs = line.jobs
        if not self._jobs.offer(self._job):
            raise Busy("too many prompts wait already")
        # Objects go at any time and in any thread: the loop itself has to hear of it.
        token, leave = trio.lowlevel.current_trio_token(), partial(_leave, self._jobs, self._job, self._told.queue)
        weakref.finalize(self, _soon, token, leave).atexit = False

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        event = await self._told.queue.get()
        if event is None:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Cancel what still runs, and wait for its end."""
        _leave(self._jobs, self._job, self._told.queue)
        await self._job.wait()

    async def __aenter__(self) -> Events:
        return self

    async def __aexit__(self, *_error: object) -> None:
        with trio.CancelScope(shield=True):
            await self.aclose()


class _Told:
    """The giver of one job: what the conversation tells of it goes into a queue of its own."""

    def __init__(self, line: Line) -> None:
        self.queue = EventQueue()
        self._line = line

    def began(self, job: Job) -> None:
        self._line.queue = self.queue
        self._line.between.move_to(self.queue)
        self._line.conversation.began(job)

    def ended(self, job: Job, end: End) -> None:
        # Whoever never began tells its end here too; what runs meanwhile goes on in its own queue.
        before, self._line.queue = self._line.queue, self.queue
        self._line.conversation.ended(job, end)
        self._line.queue = before
        self.queue.finish()


def _leave(jobs: Jobs, job: Job, queue: EventQueue) -> None:
    """Nobody reads any more."""
    if job.end is None:
        queue.abandon()
        jobs.cancel(job)


def _soon(token: trio.lowlevel.TrioToken, leave: Callable[[], None]) -> None:
    with suppress(trio.RunFinishedError):
        token.run_sync_soon(leave)
