"""One extension process as a Hook with tools, commands and panels. What its answers lead to is decided elsewhere.

The child itself is `child.py`'s, as for every hook; this is the conversation in zot's frames.
"""

from __future__ import annotations

import signal

import trio

from hookgate.hooks.zot.calls import Calls, Lost
from hookgate.hooks.zot.extension_calls import ExtensionCalls
from hookgate.hooks.zot.handshake import Handshake, HowReady
from hookgate.hooks.zot.interception import Interception, Origin, stages_of
from hookgate.hooks.zot.protocol_errors import ProtocolErrors
from hookgate.hooks.zot.registered import Registered
from hookgate.hooks.zot.showing import Showing
from hookgate.hooks.zot.spec import ExtensionSpec
from hookgate.hooks.zot.tool import ZotTool, lost_text
from hookgate.processes.child import FLOOD_LINE_BYTES, Child, Late
from hookgate.processes.outbox import Bounds, Outbox
from hookgate.processes.rounds import Rounds
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.events.event import Event
from hookgate.protocol.framing import Oversize
from hookgate.protocol.hook.answers import Answer, Failed
from hookgate.protocol.hook.hello import Hello
from hookgate.protocol.hook.stages import Question
from hookgate.protocol.zot.answers import CommandAnswer, command_answer, command_failed
from hookgate.protocol.zot.events import Sent, event_line
from hookgate.protocol.zot.frames import (
    CommandReply,
    InterceptReply,
    RegisterCommand,
    RegisterTool,
    SubmitSlash,
    Subscribe,
    ToolReply,
    ToolUnwanted,
    ToolWanted,
    Unknown,
)
from hookgate.protocol.zot.frames import Hello as Greeting
from hookgate.protocol.zot.happened import translated
from hookgate.protocol.zot.host import (
    PROTOCOL_VERSION,
    CommandInvoked,
    HelloAck,
    HostFrame,
    PanelClosed,
    PanelKey,
    Shutdown,
    line_of,
)
from hookgate.protocol.zot.peer import BadReply, Incoming, Malformed, Stray, ZotPeer

BOUNDS = Bounds(waiting_bytes=16 * 1024 * 1024, waiting_frames=256, stall_s=5.0)
COMMAND_TIMEOUT_S = 30.0
LAST_WORDS_S = 0.1


class ZotExtension:
    """The Hook that a running extension is. `ended` is set when it answers no more; `end_reason` says why."""

    def __init__(self, spec: ExtensionSpec, child: Child, rounds: Rounds, late: Late) -> None:
        self.name = spec.hook_name
        self.extension = spec.name
        self.rank = spec.rank
        self.declared = Hello(spec.name, stages=frozenset())
        self.ended = child.ended
        self.protocol_errors = ProtocolErrors(spec.journal)
        self._spec = spec
        self._child, self._late = child, late
        self._handshake = Handshake()
        self._peer = ZotPeer()
        self._outbox = Outbox[Sent](child.pipes.stdin, event_line, child.cut, rounds.writes, BOUNDS)
        self._calls = Calls(self._peer, self._outbox, rounds.deadlines)
        self._registered = Registered(spec.name, self._calls)
        self._own_calls = ExtensionCalls(spec.name, self._calls, spec.roster.run_tool, self._send)
        self._showing = Showing(self, spec, self._calls, rounds.deadlines)
        self._interception = Interception(Origin(spec.name, spec.project_dir), self._calls, self._showing.warn)
        self._sequence = 0
        self._up = False
        self._stopped = False

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def end_reason(self) -> str:
        return self._child.end_reason

    @property
    def last_words(self) -> tuple[str, ...]:
        return self._child.last_words

    @property
    def events_dropped(self) -> int:
        return self._outbox.events_dropped

    @property
    def how_ready(self) -> HowReady | None:
        return self._handshake.how_ready

    @property
    def tools(self) -> tuple[ZotTool, ...]:
        return self._registered.tools

    @property
    def commands(self) -> tuple[RegisterCommand, ...]:
        return self._registered.commands

    # --- what others ask of it ---

    async def ask(self, question: Question, timeout_s: float) -> Answer:
        answer = await self._interception.judge(question, timeout_s)
        # Whoever stops it, to start it anew, has not wanted anything to pass meanwhile.
        if self._stopped and isinstance(answer, Failed) and self._spec.guards(question.stage):
            return replace(answer, closes=True)
        return answer

    def notify(self, event: Event) -> None:
        """What it subscribed to, in order; never waits."""
        session, origin = (event.step.session_key, event.step.extension) if event.step else ("", "")
        for heard in translated(event):
            self._sequence += 1
            if heard.event in self._registered.events:
                sent = Sent(heard, session, self._spec.project_dir, self._sequence, origin)
                self._outbox.send_event(sent)

    async def drained(self) -> None:
        """Until no call is in flight."""
        await self._calls.drained()

    async def command(self, name: str, args: str, chat: Chat | None) -> CommandAnswer:
        """Run a command under the name that it was registered with."""
        reply = await self._calls.ask(
            CommandReply, lambda call_id: CommandInvoked(call_id, name, args), COMMAND_TIMEOUT_S, chat
        )
        if isinstance(reply, Lost):
            return command_failed(name, lost_text(reply, self.extension, name))
        answer = command_answer(name, reply)
        if answer.effect == "error" and not reply.error:
            self.protocol_errors.unusable(reply.id, answer.text)
        return answer

    def press(self, panel_id: str, key: str, text: str) -> None:
        self._send(PanelKey(panel_id, key, text))

    def panel_closed(self, panel_id: str) -> None:
        self._send(PanelClosed(panel_id))

    def forget_prompt(self, session: str) -> None:
        """The session was cleared: its system prompt is asked about again."""
        self._interception.forget_prompt(session)

    # --- its life ---

    async def introduce(self) -> str | None:
        problem = await self._handshake.greeted(self._spec.start_timeout_s, self._spec.hello_timeout_s, self._late)
        hello = self._handshake.hello
        if hello is None:
            return problem
        if hello.name != self.extension:
            self._spec.journal.host(f"hello names it {hello.name}; its manifest says {self.extension}, which counts")
        self._send(self._ack())
        await self._handshake.readied(quiet_counts=not self._spec.fail_closed)
        if self.ended.is_set():
            return f"extension exited before it was ready: {self.end_reason}"
        self._up = True
        self._announce()
        self._spec.learn(self._registered.intercepts)
        return None

    async def run_writer(self) -> None:
        with trio.CancelScope(shield=True):
            await self._outbox.run()

    async def leave(self) -> None:
        """Ask it to go: the frame comes before the end of its input."""
        self._stopped = not self.ended.is_set()
        self._send(Shutdown())
        with trio.move_on_after(LAST_WORDS_S):
            await self._outbox.emptied()

    def abandon(self, reason: str) -> None:
        self._outbox.close()
        self._calls.abandon(reason)
        self._showing.end()
        status = self._child.pipes.process.returncode
        self._handshake.abandon(f"extension exited before hello: {reason if status is None else status_text(status)}")
        self._spec.journal.host(reason)
        if self._up:
            self._up = False
            self._spec.roster.left(self)

    def _send(self, frame: HostFrame) -> None:
        self._outbox.send([line_of(frame)])

    def _ack(self) -> HelloAck:
        spec = self._spec
        return HelloAck(
            protocol_version=PROTOCOL_VERSION,
            zot_version=spec.zot_version,
            provider=spec.provider,
            model=spec.model,
            cwd=spec.project_dir,
            extension_dir=spec.directory,
            data_dir=spec.directory,
            capabilities=("call_tool",) if self._own_calls.works else (),
        )

    # --- what it says ---

    def take(self, data: bytes) -> int:
        answered, incoming = False, self._peer.receive(data)
        for it in incoming:
            if self._handshake.take(it):
                answered = self._take(it) or answered
            elif isinstance(it, Greeting) and it is self._handshake.hello:
                # What follows in the same breath may depend on it.
                self._calls.cancels = "tool_cancel" in it.capabilities
                self._calls.serves = "call_tool" in it.capabilities
        if self._up and self._registered.news:
            self._announce()
        return 0 if answered else max(len(data), FLOOD_LINE_BYTES * len(incoming))

    def _take(self, it: Incoming) -> bool:
        """Whether it was a call's answer."""
        match it:
            case InterceptReply() | ToolReply() | CommandReply() | BadReply():
                self.protocol_errors.answered(it)
                self._calls.answered(it)
                return True
            case RegisterTool() | RegisterCommand():
                if refused := self._registered.take(it):
                    self.protocol_errors.refused(refused)
            case Subscribe():
                self._registered.take(it)
                self._interception.intercepts = self._registered.intercepts
                self.declared = Hello(self.extension, stages=stages_of(self._registered.intercepts))
                if self._up:
                    self._spec.learn(self._registered.intercepts)
            case ToolWanted():
                if not self._own_calls.take(it):
                    self.protocol_errors.take(Stray(it.type, it.id))
            case ToolUnwanted(id=errand_id):
                self._own_calls.cancel(errand_id)
            case SubmitSlash(text=text) if not text.startswith("/"):
                self.protocol_errors.take(Malformed("submit_slash without a slash", text[:200]))
            case Stray() | Malformed() | Unknown() | Oversize():
                self.protocol_errors.take(it)
            case _:
                self._showing.take(it)
        return False

    def _announce(self) -> None:
        self._registered.news = False
        self._spec.roster.changed(self)


def status_text(status: int) -> str:
    """How a process ended, as zot writes it: `status` is its return code, negative for a signal."""
    if status >= 0:
        return f"exit status {status}"
    name = signal.strsignal(-status) or str(-status)
    return f"signal: {name.lower()}"
