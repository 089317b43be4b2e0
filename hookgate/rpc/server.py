"""What RPC's commands do: answered at once, or put in line as work. Owns no pipe and starts no task.

It answers before anything that a prompt needs is open; only prompts, compactions and extension commands wait for it,
and what asks for a kept conversation until that is read.
"""

from __future__ import annotations

import hmac
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import trio

from hookgate import __version__
from hookgate.assembly.models import taken_for, unknown_of
from hookgate.assembly.settings import Settings
from hookgate.embedding.known import known_models
from hookgate.loop.sessions.jobs import Compaction, Prompt
from hookgate.protocol.approval import Outcome
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.framing import MAX_MESSAGE_BYTES, Oversize
from hookgate.protocol.rpc import commands, events
from hookgate.protocol.rpc.commands import Request, malformed, read_request
from hookgate.protocol.rpc.responses import (
    PROTOCOL_VERSION,
    failed,
    message_members,
    model_members,
    revealed_members,
    state_members,
    succeeded,
)
from hookgate.rpc.approvals import Approvals
from hookgate.rpc.extension_commands import ExtensionCommands
from hookgate.rpc.talk import CHAT, Talk, Wire, chat_of
from hookgate.rpc.unread import Unread

if TYPE_CHECKING:
    from hookgate.embedding.conversations import Conversations

TOO_MANY = "too many prompts wait already"
AUTH_REQUIRED = "auth required: send hello with token first"
INVALID_TOKEN = "invalid token"  # noqa: S105 - the answer, not the token
MAX_CHATS = 10_000
TOO_MANY_CHATS = f"this process serves {MAX_CHATS} chats already"
KEPT_NOTES, KEPT_BYTES = 64, 1 << 20


@dataclass(frozen=True)
class Terms:
    """`token`: what hello must carry; empty: nothing. `approvals`: the other end answers approval requests. `kept`:
    there may be messages from before. `compact_done`: a compaction ends with `done`."""

    token: str = ""
    approvals: bool = False
    kept: bool = False
    compact_done: bool = False


class Server:
    """`write` takes a whole frame and never waits."""

    def __init__(self, settings: Settings, terms: Terms, write: Callable[[bytes], None]) -> None:
        self.approvals = Approvals(self.tell, enabled=terms.approvals)
        self.refused = False
        self.opened = trio.Event()
        self._settings, self._token, self._write = settings, terms.token, write
        self._trusted, self._kept = not terms.token, terms.kept
        self._wire = Wire(self.tell, self.started, terms.compact_done)
        self._talks: dict[str, Talk] = {}
        self._conversations: Conversations | None = None
        # Only extensions speak before anybody has said who they are.
        self._notes: deque[bytes] = deque()
        self.commands = ExtensionCommands(self)
        self.unread = Unread(self._do_there)

    def use(self, conversations: Conversations) -> None:
        """They are open, and take over what was set meanwhile."""
        self._conversations = conversations
        for talk in tuple(self._talks.values()):
            talk.use(conversations.of(talk.chat))
        self.opened.set()

    def enter(self, chat: Chat) -> Talk:
        """That of the chat, which may be new."""
        key = chat.session_key
        if key not in self._talks:
            self._talks[key] = Talk(chat, self._settings, self._wire, kept=self._kept)
        return self._talks[key]

    def talk(self, request: Request) -> Talk:
        """That which a request is for, open if any is."""
        talk = self.enter(chat_of(request))
        if talk.conversation is None and self._conversations is not None:
            talk.use(self._conversations.of(talk.chat))
        return talk

    # --- out ---

    def tell(self, event: events.Event, chat: Chat | None = None) -> None:
        """`chat` None: it concerns none."""
        line = events.event_line(event, _named(chat))
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
        provider, _, model = self.enter(CHAT).model.partition("/")
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
            case commands.Approve():
                self._approve(request, command)
            case commands.Reveal():
                self._reveal(request, command)
            case commands.PanelKey():
                self._press(request, command)
            case _ if len(self._talks) >= MAX_CHATS and chat_of(request).session_key not in self._talks:
                self.refuse(request, TOO_MANY_CHATS)
            case _:
                self.unread.take(request, self.talk(request), command)

    def _do_there(self, request: Request, talk: Talk, command: commands.Command) -> None:
        """In one chat."""
        chat = chat_of(request)
        match command:
            case commands.Prompt(message=text, images=images):
                self._queue(request, talk, Prompt(Inbound(chat, text, images)))
            case commands.Compact():
                self._queue(request, talk, Compaction(chat))
            case commands.Abort():
                # The answer first: what the end of the turn tells comes after it.
                self.answer(request)
                if (job := talk.jobs.next) is not None:
                    talk.jobs.cancel(job)
                self.commands.abort(chat)
            case commands.GetState():
                self.answer(request, state_members(talk.state()))
            case commands.GetMessages():
                self.answer(request, {"messages": [message_members(it) for it in talk.messages()]})
            case commands.GetModels():
                models = known_models(self._settings.config, talk.model)
                self.answer(request, {"models": [model_members(it) for it in models]})
            case commands.ExtCommand():
                self.commands.offer(request, command)
            case _:
                self._change(request, talk, command)

    def _queue(self, request: Request, talk: Talk, work: Prompt | Compaction) -> None:
        if not talk.offer(work, request):
            self.refuse(request, TOO_MANY)

    def _change(self, request: Request, talk: Talk, command: commands.Command) -> None:
        """From the next prompt on: a turn that runs keeps what it began with."""
        try:
            self.answer(request, self._changed(talk, command))
        except ValueError as error:
            self.refuse(request, str(error))

    def _changed(self, talk: Talk, command: commands.Command) -> dict[str, Any] | None:
        """Raises ValueError, and then nothing has changed."""
        match command:
            case commands.SetModel(model=name):
                model = talk.set_model(name)
                notes = (taken_for(name, model), unknown_of(self._settings.config, model))
                said = "; ".join(it for it in notes if it)
                return {"model": model.partition("/")[2], **({"note": said} if said else {})}
            case commands.SetReasoning(reasoning=reasoning):
                return {"reasoning": talk.set_reasoning(reasoning)}
            case _:
                talk.clear()
                return None

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

    def _press(self, request: Request, command: commands.PanelKey) -> None:
        extensions = self._conversations.main.extensions if self._conversations is not None else None
        if extensions is None or extensions.roster.panels.current is None:
            self.refuse(request, "no panel is open")
            return
        if not command.key:
            self.refuse(request, "key is required")
            return
        extensions.roster.press(command.key, command.text)
        self.answer(request)

    async def idle(self) -> None:
        """Until what waits to be read is, every command of an extension is answered, and every prompt, theirs too, is
        done."""
        await self.unread.idle()
        await self.commands.idle()
        while busy := [it for it in self._talks.values() if it.jobs.busy]:
            await busy[0].jobs.idle()

    def prompt(self, talk: Talk, inbound: Inbound, extension: str) -> None:
        """A prompt of an extension's, that nobody waits for an answer to."""
        if not talk.offer(Prompt(inbound)):
            self.tell(events.ExtNotify(extension, "warn", TOO_MANY), talk.chat)


def _named(chat: Chat | None) -> dict[str, str]:
    """What tells the chats of a client apart; nothing where it has named none."""
    if chat is None or chat.session_key == CHAT.session_key:
        return {}
    return {"chat_id": chat.chat_id, **({"thread": chat.thread} if chat.thread else {})}
