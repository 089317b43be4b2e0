"""The public face: `async with Runtime(...) as runtime`, prompts as streams of events. Knows no wire."""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Unpack

import trio

from hookgate.assembly.models import model_of
from hookgate.assembly.settings import Settings
from hookgate.config import ConfigError
from hookgate.embedding.above import Above, row, settled
from hookgate.embedding.conversation import Conversation, Seat
from hookgate.embedding.event_queue import EventQueue
from hookgate.embedding.known import known_models
from hookgate.embedding.opening import open_conversation
from hookgate.hooks.children.supervise import RequiredHookFailed
from hookgate.loop.sessions.jobs import Compaction, End, Job, Jobs, Prompt
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decide, Decision
from hookgate.protocol.models import Model
from hookgate.protocol.rpc.events import Event, Spent
from hookgate.protocol.rpc.responses import State, TranscriptMessage
from hookgate.sections import Config

CHANNEL = "embedded"
NOBODY = "nobody can be asked in this program"
Approve = Callable[[ApprovalRequest], Awaitable[Decision]]
MAX_QUEUED = 64


class Busy(Exception):
    """Something runs or waits, so that this cannot be done now; or too much waits already."""


class Events:
    """The events of one prompt or compaction, to its `done`.

    Leaving early, by `aclose`, by leaving an `async with` or by letting go of it, cancels what runs.
    """

    def __init__(self, opened: _Opened, work: Prompt | Compaction) -> None:
        self._told = _Told(opened)
        self._job = Job(work, self._told)
        self._jobs = opened.jobs
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

    def __init__(self, opened: _Opened) -> None:
        self.queue = EventQueue()
        self._opened = opened

    def began(self, job: Job) -> None:
        self._opened.queue = self.queue
        self._opened.conversation.began(job)

    def ended(self, job: Job, end: End) -> None:
        # Whoever never began tells its end here too; what runs meanwhile goes on in its own queue.
        before, self._opened.queue = self._opened.queue, self.queue
        self._opened.conversation.ended(job, end)
        self._opened.queue = before
        self.queue.finish()


def _leave(jobs: Jobs, job: Job, queue: EventQueue) -> None:
    """Nobody reads any more."""
    if job.end is None:
        queue.abandon()
        jobs.cancel(job)


def _soon(token: trio.lowlevel.TrioToken, leave: Callable[[], None]) -> None:
    with suppress(trio.RunFinishedError):
        token.run_sync_soon(leave)


class _Opened:
    """An open conversation and the work that waits for it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.jobs = Jobs(MAX_QUEUED)
        self.queue = EventQueue()
        self.conversation: Conversation


class Runtime:
    """One conversation with a model, its tools and its hooks.

    `config`: a Config, the path of a hookgate.toml, or None for the usual values. What is given by name stands above
    it: `provider`, `model`, `api_key`, `base_url`, `workspace`, `system`, `system_more`, `reasoning`, `max_steps`,
    `tools`; see Above. `approve` is asked where a call needs a person's yes; without it such calls are denied.

    Entering raises RequiredHookFailed, and ConfigError, also where a named extension does not come up; leaving ends
    what runs and stops every hook process.
    """

    def __init__(
        self,
        config: Config | Path | str | None = None,
        *,
        approve: Approve | None = None,
        channel: str = CHANNEL,
        **above: Unpack[Above],
    ) -> None:
        self._given, self._above = Path(config) if isinstance(config, str) else config, above
        self._approve, self._channel = approve, channel
        self._entered: AbstractAsyncContextManager[_Opened] | None = None
        self._open: _Opened | None = None

    async def __aenter__(self) -> Runtime:
        entered = self._opening(settled(self._given, **self._above))
        try:
            opened = await entered.__aenter__()
        except BaseExceptionGroup as group:
            raise _only(group) from None
        broken = opened.conversation.broken_extensions
        if broken:
            await entered.__aexit__(None, None, None)
            raise ConfigError(broken[0].text)
        self._entered, self._open = entered, opened
        return self

    def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Awaitable[bool | None]:
        entered, self._entered, self._open = self._entered, None, None
        if entered is None:
            raise RuntimeError("this runtime is not open")
        return entered.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def _opening(self, settings: Settings) -> AsyncGenerator[_Opened]:
        opened = _Opened(settings)
        seat = Seat(self._channel, lambda event: opened.queue.put(event), self._ask, lambda: opened.queue.room())
        async with open_conversation(settings, seat, opened.jobs) as opened.conversation:
            yield opened

    async def _ask(self, request: ApprovalRequest, decide: Decide) -> None:
        if self._approve is None:
            raise CannotAsk(NOBODY)
        await decide(await self._approve(request))

    # --- what it does ---

    def prompt(self, text: str, images: str | Iterable[str] = ()) -> Events:
        """Queue a message; its turn begins when those before it are done. `images`: `data:` or http URLs, or one.

        Raises Busy where 64 wait already.
        """
        return Events(self._there, self._there.conversation.prompt(text, row(images)))

    def compact(self) -> Events:
        """Queue a summary of the older part of the conversation. Raises Busy."""
        return Events(self._there, Compaction(self._there.conversation.chat))

    async def cancel(self) -> None:
        """End what runs, and wait for its end; what is queued stays."""
        job = self._there.jobs.next
        if job is not None:
            self._there.jobs.cancel(job)
            await job.wait()

    async def clear(self) -> None:
        """Forget what was said. Raises Busy."""
        self._idle().clear()
        await trio.lowlevel.checkpoint()

    async def set_model(self, name: str) -> None:
        """Another model, known or not, from the next prompt on: a bare name at the provider in use, or PROVIDER/MODEL
        of a configured one. Raises Busy, and ValueError for what names none."""
        self._idle().set_model(name)
        await trio.lowlevel.checkpoint()

    async def set_reasoning(self, reasoning: str) -> None:
        """off, minimum, low, medium, high, xhigh or max. Raises Busy, and ValueError for anything else."""
        self._idle().set_reasoning(reasoning)
        await trio.lowlevel.checkpoint()

    # --- what it is ---

    def state(self) -> State:
        return self._there.conversation.state()

    def messages(self) -> tuple[TranscriptMessage, ...]:
        """The transcript as it is now."""
        return self._there.conversation.messages()

    def cost(self) -> Spent:
        """Of the whole conversation, summaries included."""
        return self._there.conversation.cost

    def list_models(self) -> tuple[Model, ...]:
        """Those of the provider in use."""
        return known_models(self._there.settings.config, self._there.conversation.model)

    def known_model(self, name: str) -> Model | None:
        """What is known of PROVIDER/MODEL."""
        return model_of(self._there.settings.config, name)

    @property
    def _there(self) -> _Opened:
        if self._open is None:
            raise RuntimeError("this runtime is not open: use `async with Runtime(...)`")
        return self._open

    def _idle(self) -> Conversation:
        if self._there.jobs.busy:
            raise Busy("agent is busy; wait for completion or abort before retrying")
        return self._there.conversation


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What is wrong with the configuration, without the groups of the tasks that it ended on its way."""
    inner = group.exceptions[0] if len(group.exceptions) == 1 else None
    match inner:
        case ConfigError() | RequiredHookFailed():
            return inner
        case BaseExceptionGroup():
            found = _only(inner)
            return found if isinstance(found, ConfigError | RequiredHookFailed) else group
        case _:
            return group
