"""One chat of the other end: its queue, which takes work before anything is open, and what is set for it meanwhile.

Its conversation takes that over once it is open. Owns no pipe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookgate.assembly.models import chosen_model
from hookgate.assembly.settings import Settings
from hookgate.loop.sessions.jobs import Compaction, End, Job, Jobs, Prompt
from hookgate.protocol.chat import Chat, called, own_chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.rpc import events
from hookgate.protocol.rpc.commands import Request
from hookgate.protocol.rpc.responses import State, TranscriptMessage
from hookgate.protocol.values.reasoning import level_of, leveled

if TYPE_CHECKING:
    from hookgate.embedding.conversation import Conversation
    from hookgate.embedding.past import Past
    from hookgate.loop.sessions.transcript import Transcript
    from hookgate.sections import Config
    from hookgate.sections.agent import AgentSection

CHANNEL = "rpc"
CHAT = own_chat(CHANNEL)
MAX_QUEUED = 64


def chat_of(request: Request) -> Chat:
    """That which a request names, with who speaks."""
    it = request.where
    return called(CHAT, it.chat_id, it.chat_type, it.sender, it.thread)


@dataclass(frozen=True)
class Wire:
    """`tell` names the chat of an event; `started` answers a request whose turn begins. `compact_done`: a compaction
    ends with `done`."""

    tell: Callable[[events.Event, Chat], None]
    started: Callable[[Request], None]
    compact_done: bool = False


class Talk:
    """`conversation` None: it is not open yet. `unread`: what an earlier run may have left of it is not read yet.
    `held`: commands that wait for that, or behind others that do."""

    def __init__(self, chat: Chat, settings: Settings, wire: Wire, *, kept: bool = False) -> None:
        self.chat, self.wire = chat, wire
        self.jobs = Jobs(MAX_QUEUED)
        self.conversation: Conversation | None = None
        self.unread, self.held = kept, 0
        self._past: Past | None = None
        self._said: Transcript | None = None
        self._cleared = False
        self._settings = settings
        self._agent = _agent_of(settings.config, chat)
        self._model, self._reasoning = "", settings.reasoning

    @property
    def model(self) -> str:
        """PROVIDER/MODEL."""
        if self.conversation is not None:
            return self.conversation.model
        return self._model or self._agent.model

    def use(self, conversation: Conversation) -> None:
        """It is open, and takes over what was set meanwhile."""
        if self._model:
            conversation.set_model(self._model)
        if self._reasoning is not None:
            conversation.set_reasoning(self._reasoning)
        if self._cleared:
            conversation.clear()
        elif self._said is not None:
            conversation.recall(self._said)
        self.conversation, self._said = conversation, None

    def offer(self, work: Prompt | Compaction, request: Request | None = None) -> bool:
        """Whether it will be done; False where too much waits already. The request is answered when it starts."""
        return self.jobs.offer(Job(work, _Giver(self, request)))

    def set_model(self, name: str) -> str:
        """PROVIDER/MODEL. Raises ValueError, and then nothing has changed."""
        self._model = chosen_model(self._settings, name, self.model)
        if self.conversation is not None:
            self.conversation.set_model(self._model)
        return self._model

    def set_reasoning(self, reasoning: str) -> str:
        """Raises ValueError, and then nothing has changed."""
        self._reasoning = leveled(reasoning)
        if self.conversation is not None:
            self.conversation.set_reasoning(self._reasoning)
        return self._reasoning

    async def read(self, past: Past | None) -> None:
        """What an earlier run has left; None: nothing."""
        said = None if past is None else await past.of(self.chat)
        self.unread = False
        if self.conversation is None:
            self._past, self._said = past, said
        elif said is not None:
            self.conversation.recall(said)

    def clear(self) -> None:
        """What was said before this run, too."""
        self.unread, self._said = False, None
        if self.conversation is not None:
            self.conversation.clear()
        else:
            self._cleared = True

    def messages(self) -> tuple[TranscriptMessage, ...]:
        if self.conversation is not None:
            return self.conversation.messages()
        return () if self._past is None or self._said is None else self._past.shown(self._said)

    def state(self) -> State:
        if self.conversation is not None:
            return self.conversation.state()
        workspace = str(self._settings.workspace)
        provider, _, model = self.model.partition("/")
        length = 0 if self._said is None else len(self._said)
        level = level_of(self._agent.options) if self._reasoning is None else self._reasoning
        return State(provider, model, workspace, length, self.jobs.busy, events.Spent(), level)


def _agent_of(config: Config, chat: Chat) -> AgentSection:
    """Who is to answer there, before there is anybody."""
    # Most have no routes, and what knows of them takes a while to import.
    if not config.routes:
        return config.agent
    from hookgate.assembly.agents import Routes

    name = Routes(config)(chat)
    return config.agents[name].above(config.agent, name) if name in config.agents else config.agent


class _Giver:
    """Of one prompt or compaction: its request, if somebody made one, is answered when it starts, and a waiting one
    that will not start is told of as one that ended at once."""

    def __init__(self, talk: Talk, request: Request | None = None) -> None:
        self._talk, self._request = talk, request

    def began(self, job: Job) -> None:
        self._start()
        if self._talk.conversation is not None:
            self._talk.conversation.began(job)

    def ended(self, job: Job, end: End) -> None:
        if end.how == "dropped" and not job.begun_at:
            return
        self._start()
        if self._talk.conversation is not None:
            self._talk.conversation.ended(job, end)
        elif self._talk.wire.compact_done or isinstance(job.work, Prompt):
            self._talk.wire.tell(events.Done(), self._talk.chat)

    def _start(self) -> None:
        request, self._request = self._request, None
        if request is not None:
            self._talk.wire.started(request)
