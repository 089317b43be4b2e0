"""What RPC's commands do: answered at once, or put in line as work. Owns no pipe and starts no task.

It answers before anything that a prompt needs is open; only prompts, compactions and extension commands wait for it.
"""

from __future__ import annotations

import hmac
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import trio

from hookgate import __version__
from hookgate.assembly.models import named_model, unknown_of
from hookgate.assembly.settings import Settings
from hookgate.embedding.known import known_models
from hookgate.embedding.reasoning import leveled
from hookgate.loop.sessions.jobs import Compaction, End, Job, Jobs, Prompt
from hookgate.protocol.approval import Outcome
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.framing import MAX_MESSAGE_BYTES, Oversize
from hookgate.protocol.rpc import commands, events
from hookgate.protocol.rpc.commands import Request, malformed, read_request
from hookgate.protocol.rpc.responses import (
    PROTOCOL_VERSION,
    State,
    failed,
    message_members,
    model_members,
    revealed_members,
    state_members,
    succeeded,
)
from hookgate.rpc.approvals import Approvals
from hookgate.rpc.extension_commands import ExtensionCommands

if TYPE_CHECKING:
    from hookgate.embedding.conversation import Conversation

CHANNEL = "rpc"
CHAT = Chat(CHANNEL, "main", sender="user")
BUSY = "agent is busy; wait for completion or abort before retrying"
TOO_MANY = "too many prompts wait already"
MAX_QUEUED = 64
AUTH_REQUIRED = "auth required: send hello with token first"
INVALID_TOKEN = "invalid token"  # noqa: S105 - the answer, not the token
KEPT_NOTES, KEPT_BYTES = 64, 1 << 20


@dataclass(frozen=True)
class Terms:
    """`token`: what hello must carry; empty: nothing. `approvals`: the other end answers approval requests. `kept`:
    there may be messages from before."""

    token: str = ""
    approvals: bool = False
    kept: bool = False


class Server:
    """`write` takes a whole frame and never waits."""

    def __init__(self, settings: Settings, terms: Terms, write: Callable[[bytes], None]) -> None:
        self.jobs = Jobs(MAX_QUEUED)
        self.approvals = Approvals(self.tell, enabled=terms.approvals)
        self.refused = False
        self.opened = trio.Event()
        self.conversation: Conversation | None = None
        self._settings, self._token, self._write = settings, terms.token, write
        self._model, self._reasoning = settings.config.agent.model, settings.reasoning
        self._trusted, self._kept = not terms.token, terms.kept
        # Requests for messages that are not read yet.
        self._unread: list[Request] = []
        # Only extensions speak before anybody has said who they are.
        self._notes: deque[bytes] = deque()
        self.commands = ExtensionCommands(self)

    def use(self, conversation: Conversation) -> None:
        """It is open, and takes over what was set meanwhile."""
        conversation.set_model(self._model)
        conversation.set_reasoning(self._reasoning)
        self.conversation = conversation
        for request in self._unread:
            self._show_messages(request)
        self.opened.set()

    # --- out ---

    def tell(self, event: events.Event) -> None:
        line = events.event_line(event)
        if self._trusted:
            self._write(line)
            return
        self._notes.append(line)
        while len(self._notes) > KEPT_NOTES or sum(map(len, self._notes)) > KEPT_BYTES:
            self._notes.popleft()

    def started(self, request: Request) -> None:
        self._write(succeeded(request, {"started": True}))

    def answer(self, request: Request, data: dict[str, Any] | None = None) -> None:
        self._write(succeeded(request, data))

    def refuse(self, request: Request, error: str) -> None:
        self._write(failed(request, error))

    # --- in ---

    def take(self, line: bytes | Oversize) -> bool:
        """One line; False when the other end must not be talked to any more."""
        oversize = isinstance(line, Oversize)
        request = malformed(f"a line over {MAX_MESSAGE_BYTES} bytes") if oversize else read_request(line)
        match request.command:
            case commands.Refused(malformed=True, error=error):
                self.refuse(request, error)
            case commands.Hello(token=token):
                return self._greet(request, token)
            case _ if not self._trusted:
                self.refuse(request, AUTH_REQUIRED)
            case commands.Refused(error=error):
                self.refuse(request, error)
            case command:
                self._do(request, command)
        return True

    def _greet(self, request: Request, token: str) -> bool:
        if self._token and not hmac.compare_digest(token.encode(), self._token.encode()):
            self.refuse(request, INVALID_TOKEN)
            self.refused = True
            return False
        provider, _, model = self._model.partition("/")
        named = {"provider": provider, "model": model}
        self.answer(request, {"protocol_version": PROTOCOL_VERSION, "version": __version__, **named})
        self._trusted = True
        while self._notes:
            self._write(self._notes.popleft())
        return True

    def _do(self, request: Request, command: commands.Command) -> None:
        match command:
            case commands.Ping():
                self.answer(request, {"pong": True})
            case commands.Prompt(message=text, images=images):
                self._queue(request, Prompt(Inbound(CHAT, text, images)))
            case commands.Compact():
                self._queue(request, Compaction(CHAT))
            case commands.Abort():
                # The answer first: what the end of the turn tells comes after it.
                self.answer(request)
                if (job := self.jobs.next) is not None:
                    self.jobs.cancel(job)
            case commands.GetState():
                self.answer(request, state_members(self._state()))
            case commands.GetMessages() if self._kept and self.conversation is None:
                self._unread.append(request)
            case commands.GetMessages():
                self._show_messages(request)
            case commands.GetModels():
                self.answer(
                    request,
                    {"models": [model_members(it) for it in known_models(self._settings.config, self._model)]},
                )
            case commands.Approve():
                self._approve(request, command)
            case commands.Reveal():
                self._reveal(request, command)
            case commands.ExtCommand() | commands.PanelKey():
                self._extend(request, command)
            case _:
                self._change(request, command)

    def _show_messages(self, request: Request) -> None:
        said = self.conversation.messages() if self.conversation else ()
        self.answer(request, {"messages": [message_members(message) for message in said]})

    def _queue(self, request: Request, work: Prompt | Compaction) -> None:
        if not self.jobs.offer(Job(work, _Giver(self, request))):
            self.refuse(request, TOO_MANY)

    def _change(self, request: Request, command: commands.Command) -> None:
        """What may not change under a turn."""
        if self.jobs.busy:
            self.refuse(request, BUSY)
            return
        try:
            self.answer(request, self._changed(command))
        except ValueError as error:
            self.refuse(request, str(error))

    def _changed(self, command: commands.Command) -> dict[str, Any] | None:
        """Raises ValueError, and then nothing has changed."""
        match command:
            case commands.SetModel(model=name):
                self._model = named_model(self._settings.config, name, self._model)
            case commands.SetReasoning(reasoning=reasoning):
                self._reasoning = leveled(reasoning)
            case _:
                self._clear()
        if self.conversation is not None:
            self.conversation.set_model(self._model)
            self.conversation.set_reasoning(self._reasoning)
        match command:
            case commands.SetModel():
                note = unknown_of(self._settings.config, self._model)
                return {"model": self._model.partition("/")[2], **({"note": note} if note else {})}
            case commands.SetReasoning():
                return {"reasoning": self._reasoning}
            case _:
                return None

    def _clear(self) -> None:
        if self.conversation is not None:
            self.conversation.clear()

    def _state(self) -> State:
        if self.conversation is not None:
            return self.conversation.state()
        workspace = str(self._settings.workspace)
        provider, _, model = self._model.partition("/")
        return State(provider, model, workspace, 0, self.jobs.busy, events.Spent(), self._reasoning)

    def _approve(self, request: Request, command: commands.Approve) -> None:
        def told(outcome: Outcome | None) -> None:
            if outcome is not None and outcome.counted:
                self.answer(request)
            else:
                became = f": {outcome.text}" if outcome is not None else ""
                self.refuse(request, f'no approval "{command.approval}" waits{became}')

        self.approvals.answer(command, told)

    def _reveal(self, request: Request, command: commands.Reveal) -> None:
        waiting = self.approvals.waiting(command.approval)
        if waiting is None:
            self.refuse(request, f'no approval "{command.approval}" waits')
        else:
            self.answer(request, revealed_members(waiting))

    # --- extensions ---

    def _extend(self, request: Request, command: commands.ExtCommand | commands.PanelKey) -> None:
        if isinstance(command, commands.PanelKey):
            if self.conversation is not None and self.conversation.extensions is not None:
                self.conversation.extensions.roster.press(command.key, command.text)
            self.answer(request)
            return
        if not self.commands.offer(request, command):
            self.refuse(request, "too many commands wait already")

    async def idle(self) -> None:
        """Until every command of an extension is answered, and every prompt, theirs too, is done."""
        await self.commands.idle()
        await self.jobs.idle()

    def prompt(self, extension: str, text: str) -> None:
        """A prompt of an extension's, that nobody waits for an answer to."""
        if not self.jobs.offer(Job(Prompt(Inbound(CHAT, text)), _Giver(self))):
            self.tell(events.ExtNotify(extension, "warn", TOO_MANY))


class _Giver:
    """Of one prompt or compaction: its request, if somebody made one, is answered when it starts, and a waiting one
    that will not start is told of as one that ended at once."""

    def __init__(self, server: Server, request: Request | None = None) -> None:
        self._server, self._request = server, request

    def began(self, job: Job) -> None:
        self._start()
        if self._server.conversation is not None:
            self._server.conversation.began(job)

    def ended(self, job: Job, end: End) -> None:
        if end.how == "dropped":
            return
        self._start()
        if self._server.conversation is not None:
            self._server.conversation.ended(job, end)
        else:
            self._server.tell(events.Done())

    def _start(self) -> None:
        request, self._request = self._request, None
        if request is not None:
            self._server.started(request)
