"""One hook process over JSON-RPC: how it is started, introduced, asked and heard. Does not know what an answer
leads to.

The child itself is `child.py`'s, the calls in flight are `calls.py`'s; whether a dead process comes back is
`supervise.py`'s.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import field
from time import monotonic
from typing import Any

import structlog
import trio

from hookgate.hooks.children.calls import Call, Calls
from hookgate.hooks.rules import EventMethod
from hookgate.processes.child import (
    FLOOD_BYTES,
    FLOOD_LINE_BYTES,
    LATE_S,
    Child,
    HelloFailed,
    Late,
    NotAgain,
    Recheck,
    loud,
    open_child,
    unheard,
    why_unheard,
)
from hookgate.processes.deadlines import overdue
from hookgate.processes.outbox import Outbox, hook_event_frame, runtime_event_frame
from hookgate.processes.pipes import TakeLines, logged_lines, open_pipes
from hookgate.processes.rounds import Rounds
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.events.event import Event
from hookgate.protocol.framing import MAX_MESSAGE_BYTES, QUOTED, Oversize, quoted
from hookgate.protocol.hook.answers import CONTINUE, Answer, Failed, parse_answer
from hookgate.protocol.hook.hello import Hello, hello_params, left_out, parse_hello, undeclared
from hookgate.protocol.hook.kinds import kind_of
from hookgate.protocol.hook.peer import ErrorReply, Noise, Peer, Refused, Reply, Stray
from hookgate.protocol.hook.stages import Question, Stage

log = structlog.get_logger("hookgate.hooks")

ID_CHARS = 80
"""Of an id that nobody gave: it may be anything."""
_REPLIES = (Reply, ErrorReply)


@dataclass(frozen=True)
class ProcessSpec:
    """How to start a hook and what to tell it at hello. Two equal specs mean the same running process.

    `flush_s`: how long events that wait may still be written when the hook is stopped. `media_dir`: the folder of the
    files of messages, for hooks that read them. `workspace`: where tools work. `configured`: it has to stand where
    only a hello that names the stage makes it; else `stages` is what it is offered, and it is asked where it stands.
    """

    name: str
    command: tuple[str, ...]
    directory: str
    environment: Mapping[str, str]
    stages: frozenset[Stage]
    observes: bool
    event_method: EventMethod = "hook.event"
    max_in_flight: int = 256
    max_message_bytes: int = MAX_MESSAGE_BYTES
    hello_timeout_s: float = 10.0
    flush_s: float = 0.5
    media_dir: str = ""
    workspace: str = ""
    configured: bool = True
    recheck: Recheck | None = field(default=None, compare=False)

    @property
    def hook_name(self) -> str:
        return self.name

    def resting(self, last: Hello | None) -> Hello:
        """Where a hook stands whose process is down: where it stood, but without tools that it cannot answer for."""
        return Hello() if last is None else replace(last, tools=())

    def guards(self, stage: Stage) -> bool:
        """Its failure policy says all of it."""
        return False

    def open(self, rounds: Rounds, late: Late) -> AbstractAsyncContextManager[HookProcess]:
        """Nobody waits for one that is late: it has failed."""
        return open_process(self, rounds)


@asynccontextmanager
async def open_process(
    spec: ProcessSpec, rounds: Rounds, stderr: TakeLines | None = None, late: Late = lambda _why: None
) -> AsyncGenerator[HookProcess]:
    """A started process that has said hello. Leaving stops its whole process group and reaps it.

    `stderr` takes its lines instead of the log. `late` is told, once, that it has not said hello for LATE_S.

    Raises HelloFailed, NotAgain where its recheck refuses it. Once open, nothing that happens to the process raises
    here: calls get Failed answers and `ended` is set.
    """
    if spec.recheck is not None and (refused := await spec.recheck()):
        raise NotAgain(refused)
    try:
        pipes = await open_pipes(spec)
    except OSError as error:
        raise HelloFailed(f"cannot start {spec.command[0]!r}: {error.strerror or error}") from None
    child = Child(pipes, max(FLOOD_BYTES, 2 * spec.max_message_bytes))
    hook = HookProcess(spec, child, rounds)
    async with AsyncExitStack() as stack:
        with overdue(rounds.deadlines, LATE_S, lambda: late(why_unheard(hook.unread))):
            await stack.enter_async_context(open_child(child, hook, stderr or logged_lines(spec.name), rounds.reads))
        yield hook


class HookProcess:
    """The Hook that a running process is. `ended` is set when it answers no more; `end_reason` says why."""

    def __init__(self, spec: ProcessSpec, child: Child, rounds: Rounds) -> None:
        self.name = spec.name
        self.declared = Hello()
        self.strays = 0
        self.noise = 0
        self.refused = 0
        self.ended = child.ended
        self._spec = spec
        self._child = child
        self._unread: list[str] = []
        self._latest = deque[tuple[float, str]](maxlen=QUOTED)
        self._answers: dict[Stage, tuple[object, Answer]] = {}
        self._peer = Peer(spec.max_message_bytes)
        frame = runtime_event_frame if spec.event_method == "hook.runtime_event" else hook_event_frame
        self._outbox = Outbox(child.pipes.stdin, frame, child.cut, rounds.writes)
        self._calls = Calls(self._peer, self._outbox, rounds.deadlines, spec.max_in_flight)

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
    def unread(self) -> str:
        """What it has written first that answers nothing, in quotes."""
        return quoted(self._unread, self._peer.begun)

    @property
    def events_dropped(self) -> int:
        return self._outbox.events_dropped

    async def ask(self, question: Question, timeout_s: float) -> Answer:
        # Not in a coroutine of its own: one more round it would be felt by every call.
        call = self._calls.begin(question.stage.method, question.params_parts, timeout_s)
        settled = await call.wait()
        if not isinstance(settled, Reply):
            return Failed(self._explained(call, settled.reason))
        # What it answered there before counts again where the very same value has come: see Peer.
        known = self._answers.get(question.stage)
        if known is not None and known[0] is settled.result:
            return known[1]
        return self._answer(question.stage, settled.result)

    def _explained(self, call: Call, reason: str) -> str:
        """With what came while a call waited in vain: its answer may be among it, under another id."""
        if reason != call.unanswered:
            return reason
        meanwhile = [text for at, text in self._latest if at >= call.deadline - call.timeout_s]
        came = quoted(meanwhile, self._peer.begun)
        return f"{reason}; this came meanwhile, which answers nothing: {came}" if came else reason

    def _answer(self, stage: Stage, result: Any) -> Answer:  # noqa: ANN401 - JSON
        try:
            answer = parse_answer(stage, result)
        except BadMessage as error:
            return Failed(str(error))
        # Of one that says several things, the one that takes longest to read.
        if answer is not CONTINUE or stage not in self._answers:
            self._answers[stage] = (result, answer)
        return answer

    def notify(self, event: Event) -> None:
        self._outbox.send_event(event)

    async def leave(self) -> None:
        """Give events that still wait `flush_s` seconds to leave: the last ones are the most telling."""
        with trio.move_on_after(self._spec.flush_s):
            await self._outbox.emptied()

    async def introduce(self) -> str | None:
        """What went wrong, or None with `declared` filled."""
        spec = self._spec
        params = hello_params(spec.name, spec.stages, spec.observes, spec.media_dir, spec.workspace)
        call = self._calls.begin("hook.hello", lambda _left_s: (params,), spec.hello_timeout_s)
        settled = await call.wait()
        if not isinstance(settled, Reply):
            late = settled.reason == call.unanswered
            return f"{unheard(spec.hello_timeout_s)}: {why_unheard(self.unread)}" if late else settled.reason
        try:
            self.declared = parse_hello(settled.result, spec.stages)
        except BadMessage as error:
            return str(error)
        if spec.configured and (problem := undeclared(self.declared, spec.stages)):
            return problem
        if spec.configured and (problem := left_out(self.declared, spec.stages)):
            log.warning("hook_declines_stages", hook=spec.name, reason=problem)
        self._calls.limit = min(spec.max_in_flight, self.declared.max_in_flight or spec.max_in_flight)
        self._calls.cancels = self.declared.cancel
        return None

    async def drained(self) -> None:
        """Until no call is in flight."""
        await self._calls.drained()

    # --- the process's side ---

    async def run_writer(self) -> None:
        """Until the outbox is closed, as every end of the process does: what waits may leave while it is stopped."""
        with trio.CancelScope(shield=True):
            await self._outbox.run()

    def take(self, data: bytes) -> int:
        messages = self._peer.receive(data)
        replies = [incoming for incoming in messages if isinstance(incoming, _REPLIES)]
        self._calls.answered(replies)
        if len(replies) < len(messages):
            for incoming in messages:
                if not isinstance(incoming, _REPLIES):
                    self._note(incoming)
        return 0 if replies else max(len(data), FLOOD_LINE_BYTES * len(messages))

    def _note(self, incoming: Refused | Stray | Noise | Oversize) -> None:
        match incoming:
            case Stray(id=stray):
                self._note_stray(stray)
            case Refused(method=method, answer=answer):
                self._note_refused(method)
                self._outbox.send([answer], at_once=False)
            case Noise(line=line):
                self._note_noise(line)
            case Oversize(size=size):
                log.error("hook_message_lost", hook=self.name, bytes=size, limit=self._spec.max_message_bytes)

    def _note_stray(self, stray: object) -> None:
        self.strays += 1
        # As it was written: "2" is not 2.
        plain = stray is None or isinstance(stray, str | int | float)
        shown = encode(stray).decode()[:ID_CHARS] if plain else kind_of(stray)
        self._note_unread(f"an answer to {shown}")
        if loud(self.strays):
            log.debug("hook_stray_reply", hook=self.name, id=shown, count=self.strays)

    def _note_refused(self, method: str) -> None:
        self.refused += 1
        if loud(self.refused):
            log.warning("hook_request_refused", hook=self.name, method=method, count=self.refused)

    def _note_noise(self, line: str) -> None:
        self.noise += 1
        self._note_unread(line)
        if loud(self.noise):
            log.warning("hook_noise", hook=self.name, line=line, count=self.noise)

    def _note_unread(self, text: str) -> None:
        self._latest.append((monotonic(), text))
        if len(self._unread) < QUOTED:
            self._unread.append(text)

    def abandon(self, reason: str) -> None:
        self._outbox.close()
        self._calls.abandon(reason)
