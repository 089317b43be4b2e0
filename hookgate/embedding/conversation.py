"""The one conversation of an embedded runtime: what its jobs tell whoever is at the other end, and what it is.

The session queues and runs; this narrates.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from hookgate.assembly.app import Runtime
from hookgate.assembly.extensions.extensions import Extensions
from hookgate.assembly.models import chosen_model
from hookgate.embedding.history import shown
from hookgate.embedding.metered import Ledger, Room, metered
from hookgate.embedding.rpc_translator import Narration, Scene, Tell
from hookgate.extensions.discovery import Problem
from hookgate.loop.commands.table import Commands
from hookgate.loop.sessions.jobs import Compaction, End, Job, Jobs, Prompt
from hookgate.loop.sessions.transcript import Transcript
from hookgate.protocol.approval import ApprovalRequest, Decide
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.events.event import Event as Told
from hookgate.protocol.rpc import events
from hookgate.protocol.rpc.responses import State, TranscriptMessage
from hookgate.protocol.values.reasoning import level_of, leveled, reasoned

Ask = Callable[[ApprovalRequest, Decide], Awaitable[None]]
"""As a channel's `ask`."""


@dataclass(frozen=True)
class Seat:
    """Who is at the other end of a chat: where events go, who is asked, when there is room for more. `done`: they are
    told of the end of a compaction besides what it came to."""

    chat: Chat
    tell: Tell
    ask: Ask
    room: Room
    done: bool = True


class SeatChannel:
    """The seats of all chats as the loop sees them, with the narration of what runs in each, by session key.

    `name` is what hooks and rules match.
    """

    limits = UNLIMITED
    state = PRESENT

    def __init__(self, name: str) -> None:
        self.name = name
        self.seats: dict[str, Seat] = {}
        self.narrations: dict[str, Narration] = {}

    async def send(self, outbound: Outbound, key: str) -> str:
        await trio.lowlevel.checkpoint()
        if (narration := self.narrations.get(outbound.chat.session_key)) is not None:
            narration.sent(outbound)
        return ""

    def stream(self, chat: Chat, text: str) -> None:
        if (narration := self.narrations.get(chat.session_key)) is not None:
            narration.text(text)

    def end_stream(self, chat: Chat) -> None:
        """Every message ends with its own event."""

    def restart_stream(self, chat: Chat) -> None:
        if (narration := self.narrations.get(chat.session_key)) is not None:
            narration.restart()

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        await self.seats[request.chat.session_key].ask(request, decide)


class Conversation:
    """`jobs`: its queue, which may hold work already that was given before any of this was open."""

    def __init__(self, runtime: Runtime, channel: SeatChannel, seat: Seat, jobs: Jobs) -> None:
        self.jobs, agent = jobs, runtime.gateway.agent_of(seat.chat)
        self._runtime, self._seat, self._narrations = runtime, seat, channel.narrations
        self._options = agent.options
        self._ledger = Ledger(agent.known_model)
        self._running: Job | None = None
        providers = metered(agent.providers, self._ledger, seat.room)
        self._session = runtime.gateway.session(seat.chat, jobs)
        channel.seats[self._session.key] = seat
        self._session.agent = replace(agent, providers=providers)
        self._reasoning = level_of(agent.options)
        if runtime.settings.reasoning is not None:
            self.set_reasoning(runtime.settings.reasoning)

    # --- what it does ---

    def prompt(self, chat: Chat, text: str, media: tuple[str, ...] = ()) -> Prompt:
        """A message from whoever is at the other end, for a job. `chat`: this one, with who says it."""
        return Prompt(Inbound(chat, text, media))

    def began(self, job: Job) -> None:
        """From here on everything that happens is told, until the job has ended."""
        self._running = job
        if isinstance(job.work, Prompt):
            agent = self._session.agent
            scene = Scene(agent.around.redactor, self._ledger, agent.max_steps)
            self._narrations[self._session.key] = Narration(scene, self._seat.tell, job.scope)

    def ended(self, job: Job, end: End) -> None:
        """The last that is told of a job, `done` in the end; nothing of one that is dropped before it began."""
        if end.how == "dropped" and not job.begun_at:
            return
        narration = None
        if job is self._running:
            narration, self._running = self._narrations.pop(self._session.key, None), None
        if narration is not None:
            narration.end(end.reason)
            return
        if isinstance(job.work, Compaction) and end.how == "done":
            self._seat.tell(events.CompactDone(end.summary))
        elif end.reason:
            self._seat.tell(events.ErrorEvent(end.reason))
        if self._seat.done or isinstance(job.work, Prompt):
            self._seat.tell(events.Done())

    def recall(self, said: Transcript) -> None:
        """What was said before this run is part of it."""
        self._session.current.recall(said)

    def clear(self) -> None:
        """Forget what was said, and what is said in a turn that runs: that goes on to its end, and so does what
        waits. What it has cost stays counted."""
        self._runtime.agent.approvals.forget(self._session.key)
        self._session.renew(ends=False)
        self._forget_prompt()

    def hear(self, told: Told) -> None:
        """What the loop tells of it; calls that no model has made are left out."""
        narration = self._narrations.get(self._session.key)
        if narration is None or told.step is None or told.step.extension:
            return
        if told.step.parent_turn_id:
            narration.hear_task(told)
        else:
            narration.hear(told)

    # --- what it is ---

    @property
    def extensions(self) -> Extensions | None:
        """What the loaded extensions bring besides tools."""
        return self._runtime.extensions

    @property
    def commands(self) -> Commands:
        """What can be invoked in it."""
        return self._runtime.gateway.commands

    @property
    def problems(self) -> tuple[str, ...]:
        """A line for each extension and each skill that could not be loaded, and each context file left out."""
        extensions = self._runtime.extensions
        broken = extensions.problems(self._runtime.mounts) if extensions is not None else ()
        return (*broken, *self._runtime.text_problems())

    def take_notes(self) -> tuple[str, ...]:
        """A line for each extension that lacks something which nobody has been told of; told once."""
        extensions = self._runtime.extensions
        return extensions.learning.take_notes() if extensions is not None else ()

    @property
    def starting_extensions(self) -> tuple[str, ...]:
        """The names of those that have not come up yet and still may, in load order."""
        extensions = self._runtime.extensions
        return extensions.starting(self._runtime.mounts) if extensions is not None else ()

    @property
    def broken_extensions(self) -> tuple[Problem, ...]:
        """What is wrong with those that the caller names."""
        extensions = self._runtime.extensions
        return extensions.broken(self._runtime.mounts) if extensions is not None else ()

    def redacted(self, text: str) -> str:
        return self._session.agent.around.redactor.text(text)

    @property
    def model(self) -> str:
        """PROVIDER/MODEL."""
        return self._session.agent.model

    @property
    def cost(self) -> events.Spent:
        return self._ledger.total

    def state(self) -> State:
        provider, _, model = self.model.partition("/")
        workspace, length = str(self._runtime.settings.workspace), len(self._session.transcript)
        return State(provider, model, workspace, length, self._session.jobs.busy, self.cost, self._reasoning)

    def messages(self) -> tuple[TranscriptMessage, ...]:
        return shown(self._session.transcript.entries, self._session.agent.around.redactor)

    def set_model(self, name: str) -> str:
        """The model that the next prompt asks, as PROVIDER/MODEL: any of a configured provider. Raises ValueError."""
        named = chosen_model(self._runtime.settings, name, self.model)
        self._session.agent = replace(self._session.agent, model=named)
        if self._reasoning:
            self.set_reasoning(self._reasoning)
        self._forget_prompt()
        return named

    def set_reasoning(self, reasoning: str) -> str:
        """Raises ValueError."""
        self._reasoning = leveled(reasoning)
        options = reasoned(self._options, self._kind_of(self.model), self._reasoning)
        self._session.agent = replace(self._session.agent, options=options)
        return self._reasoning

    def _kind_of(self, model: str) -> str:
        return self._runtime.settings.config.providers[model.partition("/")[0]].kind

    def _forget_prompt(self) -> None:
        """Extensions that give the conversation a system prompt are asked for it again."""
        if self._runtime.extensions is not None:
            self._runtime.extensions.roster.forget_session(self._session.key)
