"""Calls in flight at one extension: each ends once, with a reply or with what became of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Literal, Protocol, TypeVar, cast

import trio

from hookgate.hooks.zot.chain import current_chain
from hookgate.processes.deadlines import Deadlines
from hookgate.processes.outbox import Frame, Outbox
from hookgate.processes.slot import Slot
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.zot.events import MAX_LINE_BYTES, Sent
from hookgate.protocol.zot.frames import CommandReply, InterceptReply, Reply, ToolReply
from hookgate.protocol.zot.host import CancelTool, HostFrame, line_of
from hookgate.protocol.zot.peer import BadReply, ZotPeer

Cause = Literal["timeout", "disconnected", "bad reply", "too long", "stuck"]

GRACE_S = 1.0
"""How long a call that nobody waits for any more may still say how far it has come, where it hears of that."""

R = TypeVar("R", InterceptReply, ToolReply, CommandReply)


@dataclass(frozen=True, slots=True)
class Lost:
    """A call without a usable reply; `reason` is a sentence about the extension. `so_far`: what it had come to, said
    after its time, once it heard that this was over."""

    cause: Cause
    reason: str
    so_far: Reply | None = None


class Job(Protocol):
    """Something that runs for as long as a call does, at most."""

    async def run(self) -> None:
        """Raises nothing (but Cancelled)."""
        ...

    def drop(self) -> None:
        """It will never run."""
        ...


class Call(Slot[Reply | Lost]):
    """`chain`: the tools that called each other up to it. `jobs` that it is given run inside it. `over`: nobody waits
    any more, and the extension has been told."""

    __slots__ = ("chain", "chat", "deadline", "frame", "id", "jobs", "kind", "over", "stirred", "timeout_s")

    def __init__(self, call_id: str, kind: type[Reply], timeout_s: float, chat: Chat | None) -> None:
        super().__init__()
        self.id, self.kind, self.timeout_s, self.chat = call_id, kind, timeout_s, chat
        self.deadline = monotonic() + timeout_s
        self.frame: Frame | None = None
        self.over = False
        self.chain = current_chain()
        self.jobs: deque[Job] = deque()
        self.stirred: trio.Event | None = None

    def begin(self, job: Job) -> None:
        """It runs in the task that waits for this call, and ends with it."""
        self.jobs.append(job)
        if self.stirred is not None:
            self.stirred.set()


class Calls:
    """`cancels`: the extension wants to hear of tool calls that nobody waits for any more. `serves`: it may give the
    calls that it works on jobs of its own."""

    def __init__(self, peer: ZotPeer, outbox: Outbox[Sent], deadlines: Deadlines) -> None:
        self.cancels = False
        self.serves = False
        self._peer = peer
        self._outbox = outbox
        self._deadlines = deadlines
        self._calls: dict[str, Call] = {}
        self._ended = ""
        self._idle: trio.Event | None = None

    @property
    def chat(self) -> Chat | None:
        """The chat whose calls are in flight; None without one, and where there is more than one."""
        chats = {call.chat for call in self._calls.values() if call.chat is not None}
        return chats.pop() if len(chats) == 1 else None

    @property
    def in_flight(self) -> tuple[Call, ...]:
        """The oldest first."""
        return tuple(self._calls.values())

    async def ask(
        self,
        kind: type[R],
        frame: Callable[[str], HostFrame],
        timeout_s: float,
        chat: Chat | None,
        late: Callable[[R], None] | None = None,
    ) -> R | Lost:
        """The reply of this kind to the frame that gets the call's id; writing it is part of the time. Where it is
        cancelled, `late` takes what the extension says when it hears of that, within GRACE_S."""
        if self._ended:
            return Lost("disconnected", self._ended)
        call = Call(self._peer.next_id(kind), kind, timeout_s, chat)
        self._calls[call.id] = call
        self._deadlines.watch(self)
        try:
            self._send(call, line_of(frame(call.id)))
            outcome = await (_serving(call) if self.serves else call.wait())
            return cast("R | Lost", _too_late(call, outcome) if call.over else outcome)
        except BaseException:
            # Cancelled, alone or in a group; it may have been answered all the same.
            if late is not None and (call.id not in self._calls or self._call_off(call)):
                with trio.move_on_after(GRACE_S, shield=True):
                    last = await call.wait()
                    if not isinstance(last, Lost):
                        late(cast("R", last))
            raise
        finally:
            self._settle(call)

    def answered(self, reply: Reply | BadReply) -> None:
        """It belongs to a call in flight: the peer has seen to that."""
        outcome = Lost("bad reply", reply.reason) if isinstance(reply, BadReply) else reply
        self._calls.pop(reply.id).set(outcome)

    def abandon(self, reason: str) -> None:
        self._ended = reason
        for call in self._calls.values():
            call.set(Lost("disconnected", reason))

    def expire(self, now: float) -> bool:
        for call in self.in_flight:
            if call.deadline > now:
                continue
            if not call.over and self._call_off(call):
                call.deadline = now + GRACE_S
            else:
                call.set(_late(call))
        return bool(self._calls)

    async def drained(self) -> None:
        """Until no call is in flight."""
        while self._calls:
            self._idle = trio.Event()
            await self._idle.wait()

    def _send(self, call: Call, line: bytes) -> None:
        if len(line) > MAX_LINE_BYTES:
            reason = f"a line of {len(line)} bytes is over the limit of {MAX_LINE_BYTES}"
            call.set(Lost("too long", reason))
            return
        call.frame = self._outbox.send([line])
        # Once it is closed the end is near, and wakes every caller.
        if call.frame is None and not self._outbox.closed:
            call.set(Lost("stuck", "it does not read its stdin"))

    def _settle(self, call: Call) -> None:
        while call.jobs:
            call.jobs.popleft().drop()
        if self._calls.pop(call.id, None) is not None:
            self._withdraw(call)
        if not self._calls and self._idle is not None:
            self._idle.set()

    def _withdraw(self, call: Call) -> None:
        self._peer.forget(call.id)
        self._call_off(call)

    def _call_off(self, call: Call) -> bool:
        """Nobody waits any more. Whether the extension has been told: it wants to be, and may have the call."""
        if call.over:
            return True
        if call.frame is None or self._outbox.withdraw(call.frame):
            call.frame = None
        elif self.cancels and call.kind is ToolReply:
            self._outbox.send([line_of(CancelTool(call.id))])
            call.over = True
        return call.over


def _late(call: Call) -> Lost:
    return Lost("timeout", f"no answer within {round(call.timeout_s * 1000)} ms")


def _too_late(call: Call, outcome: Reply | Lost) -> Lost:
    return _late(call) if isinstance(outcome, Lost) else replace(_late(call), so_far=outcome)


async def _serving(call: Call) -> Reply | Lost:
    """What became of the call; what it is given to do meanwhile ends with it."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_begin_all, call, nursery)
        outcome = await call.wait()
        nursery.cancel_scope.cancel()
    return outcome


async def _begin_all(call: Call, nursery: trio.Nursery) -> None:
    # From here, and not from the reader that hears of the jobs: whose call it is stands in this task's context.
    while True:
        call.stirred = trio.Event()
        while call.jobs:
            nursery.start_soon(call.jobs.popleft().run)
        await call.stirred.wait()
