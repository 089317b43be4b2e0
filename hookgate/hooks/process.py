"""One hook process over JSON-RPC: its calls in flight and what it says. Does not know what an answer leads to.

The child itself is `child.py`'s. Which call has waited too long is the deadline table's business; whether a dead
process comes back is `supervise.py`'s.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import structlog
import trio

from hookgate.hooks.child import FLOOD_BYTES, FLOOD_LINE_BYTES, Child, HelloFailed, loud, open_child
from hookgate.hooks.deadlines import Deadlines
from hookgate.hooks.outbox import Frame, Outbox, hook_event_frame, runtime_event_frame
from hookgate.hooks.pipes import logged_lines, open_pipes
from hookgate.hooks.rules import EventMethod
from hookgate.hooks.slot import Slot
from hookgate.protocol.answers import Answer, Failed, parse_answer
from hookgate.protocol.codec import encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.events import Event
from hookgate.protocol.framing import MAX_MESSAGE_BYTES, Oversize
from hookgate.protocol.hello import Hello, hello_params, parse_hello
from hookgate.protocol.peer import (
    ErrorReply,
    Incoming,
    Noise,
    Params,
    Peer,
    Refused,
    Reply,
    Stray,
    notification_frame,
    request_parts,
)
from hookgate.protocol.stages import Question, Stage

log = structlog.get_logger("hookgate.hooks")

FEW_CALLS = 2
"""Up to this many in flight a call writes its own line. With more, or when several answers came at once and so
several callers are about to ask again, the writer task joins the lines of all."""
MAX_WAITING_CALLS = 1024


@dataclass(frozen=True)
class ProcessSpec:
    """How to start a hook and what to tell it at hello. Two equal specs mean the same running process.

    `flush_s`: how long events that wait may still be written when the hook is stopped.
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

    @property
    def hook_name(self) -> str:
        return self.name

    def resting(self, last: Hello) -> Hello:
        """Where a hook stands whose process is down: where it stood, but without tools that it cannot answer for."""
        return replace(last, tools=())

    def open(self, deadlines: Deadlines) -> AbstractAsyncContextManager[HookProcess]:
        return open_process(self, deadlines)


@asynccontextmanager
async def open_process(spec: ProcessSpec, deadlines: Deadlines) -> AsyncGenerator[HookProcess]:
    """A started process that has said hello. Leaving stops its whole process group and reaps it.

    Raises HelloFailed. Once open, nothing that happens to the process raises here: calls get Failed answers and
    `ended` is set.
    """
    try:
        pipes = await open_pipes(spec.command, spec.directory, spec.environment)
    except OSError as error:
        raise HelloFailed(f"cannot start {spec.command[0]!r}: {error.strerror or error}") from None
    child = Child(pipes, max(FLOOD_BYTES, 2 * spec.max_message_bytes))
    async with open_child(child, HookProcess(spec, child, deadlines), logged_lines(spec.name)) as hook:
        yield hook


class _Call:
    """One call from being asked to being settled; `call_id` and `frame` are set once it has left the waiting line."""

    __slots__ = ("call_id", "deadline", "frame", "method", "params", "slot", "timeout_s")

    def __init__(self, method: str, params: Callable[[float], Params], timeout_s: float) -> None:
        self.method, self.params = method, params
        self.timeout_s = timeout_s
        self.deadline = monotonic() + timeout_s
        self.slot: Slot[Reply | ErrorReply | Failed] = Slot()
        self.call_id = 0
        self.frame: Frame | None = None

    def expire(self) -> None:
        self.slot.set(Failed(f"no answer within {round(self.timeout_s * 1000)} ms"))


class HookProcess:
    """The Hook that a running process is. `ended` is set when it answers no more; `end_reason` says why."""

    def __init__(self, spec: ProcessSpec, child: Child, deadlines: Deadlines) -> None:
        self.name = spec.name
        self.declared = Hello()
        self.strays = 0
        self.noise = 0
        self.refused = 0
        self.ended = child.ended
        self._spec = spec
        self._child = child
        self._deadlines = deadlines
        self._peer = Peer(spec.max_message_bytes)
        self._calls: dict[int, _Call] = {}
        self._waiting: deque[_Call] = deque()
        self._limit = spec.max_in_flight
        self._idle: trio.Event | None = None
        self._burst = False
        frame = runtime_event_frame if spec.event_method == "hook.runtime_event" else hook_event_frame
        self._outbox = Outbox(child.pipes.stdin, frame, child.end)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def end_reason(self) -> str:
        return self._child.end_reason

    @property
    def events_dropped(self) -> int:
        return self._outbox.events_dropped

    async def ask(self, question: Question, timeout_s: float) -> Answer:
        settled = await self._call(question.stage.method, question.params_parts, timeout_s)
        if isinstance(settled, Reply):
            return _answer(question.stage, settled.result)
        return Failed(settled.reason)

    def notify(self, event: Event) -> None:
        self._outbox.send_event(event)

    async def leave(self) -> None:
        """Give events that still wait `flush_s` seconds to leave: the last ones are the most telling."""
        with trio.move_on_after(self._spec.flush_s):
            await self._outbox.emptied()

    async def introduce(self) -> str | None:
        """What went wrong, or None with `declared` filled."""
        spec = self._spec
        params = hello_params(spec.name, spec.stages, spec.observes)
        settled = await self._call("hook.hello", lambda _left_s: (params,), spec.hello_timeout_s)
        if not isinstance(settled, Reply):
            return settled.reason
        try:
            self.declared = parse_hello(settled.result, spec.stages)
        except BadMessage as error:
            return str(error)
        declined = sorted(spec.stages - (self.declared.stages if self.declared.stages is not None else spec.stages))
        if Stage.APPROVE_TOOL in declined:
            return "it leaves approve_tool out of its stages, though it is configured to approve"
        if declined:
            log.warning("hook_declines_stages", hook=spec.name, stages=declined)
        self._limit = min(spec.max_in_flight, self.declared.max_in_flight or spec.max_in_flight)
        return None

    # --- calls ---

    async def _call(
        self, method: str, params: Callable[[float], Params], timeout_s: float
    ) -> Reply | ErrorReply | Failed:
        """`params` is encoded when the call is sent, for the seconds that are left then."""
        if self.ended.is_set():
            return Failed(self.end_reason)
        call = _Call(method, params, timeout_s)
        timer = self._deadlines.add(timeout_s, call.expire)
        self._submit(call)
        try:
            return await call.slot.wait()
        finally:
            self._deadlines.remove(timer)
            self._settle(call)

    def _submit(self, call: _Call) -> None:
        if len(self._calls) < self._limit:
            self._start(call)
        elif len(self._waiting) < MAX_WAITING_CALLS:
            self._waiting.append(call)
        else:
            call.slot.set(Failed(f"{MAX_WAITING_CALLS} calls already wait for it"))

    def _start(self, call: _Call) -> None:
        call.call_id = self._peer.next_id()
        self._calls[call.call_id] = call
        params = call.params(max(0.0, call.deadline - monotonic()))
        parts = request_parts(call.call_id, call.method, params)
        call.frame = self._outbox.send(parts, at_once=len(self._calls) <= FEW_CALLS and not self._burst)
        if call.frame is None:
            call.slot.set(Failed("it does not read its stdin"))

    def _settle(self, call: _Call) -> None:
        """However a call ends, its place is free for the next; a hook that wants to know is told to stop."""
        if not call.call_id:
            with suppress(ValueError):
                self._waiting.remove(call)
            return
        if self._calls.pop(call.call_id, None) is not None:
            self._withdraw(call)
        while self._waiting and len(self._calls) < self._limit:
            self._start(self._waiting.popleft())
        if not self._calls and self._idle is not None:
            self._idle.set()

    async def drained(self) -> None:
        """Until no call is in flight."""
        while self._calls:
            self._idle = trio.Event()
            await self._idle.wait()

    def _withdraw(self, call: _Call) -> None:
        self._peer.forget(call.call_id)
        if call.frame is not None and self._outbox.withdraw(call.frame):
            return
        if self.declared.cancel:
            self._outbox.send([notification_frame("hook.cancel", encode({"id": call.call_id}))])

    # --- the process's side ---

    async def run_writer(self) -> None:
        """Until the outbox is closed, as every end of the process does: what waits may leave while it is stopped."""
        with trio.CancelScope(shield=True):
            await self._outbox.run()

    def take(self, data: bytes) -> int:
        waiting = len(self._calls)
        messages = self._peer.receive(data)
        for incoming in messages:
            self._take(incoming)
        answered = waiting - len(self._calls)
        self._burst = answered > 1
        return 0 if answered else max(len(data), FLOOD_LINE_BYTES * len(messages))

    def _take(self, incoming: Incoming) -> None:
        match incoming:
            case Reply(id=call_id) | ErrorReply(id=call_id):
                self._calls.pop(call_id).slot.set(incoming)
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
        if loud(self.strays):
            log.debug("hook_stray_reply", hook=self.name, id=stray, count=self.strays)

    def _note_refused(self, method: str) -> None:
        self.refused += 1
        if loud(self.refused):
            log.warning("hook_request_refused", hook=self.name, method=method, count=self.refused)

    def _note_noise(self, line: str) -> None:
        self.noise += 1
        if loud(self.noise):
            log.warning("hook_noise", hook=self.name, line=line, count=self.noise)

    def abandon(self, reason: str) -> None:
        """Every caller wakes, once."""
        self._outbox.close()
        for call in [*self._calls.values(), *self._waiting]:
            call.slot.set(Failed(reason))


def _answer(stage: Stage, result: Any) -> Answer:  # noqa: ANN401 - JSON
    try:
        return parse_answer(stage, result)
    except BadMessage as error:
        return Failed(str(error))
