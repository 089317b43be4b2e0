"""Calls in flight at one extension: each ends once, with a reply or with what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

import trio

from hookgate.hooks.deadlines import Deadlines
from hookgate.hooks.outbox import Frame, Outbox
from hookgate.hooks.slot import Slot
from hookgate.protocol.values import Chat
from hookgate.protocol.zot.events import MAX_LINE_BYTES, Sent
from hookgate.protocol.zot.frames import CommandReply, InterceptReply, Reply, ToolReply
from hookgate.protocol.zot.host import CancelTool, HostFrame, line_of
from hookgate.protocol.zot.peer import BadReply, ZotPeer

Cause = Literal["timeout", "disconnected", "bad reply", "too long", "stuck"]

R = TypeVar("R", InterceptReply, ToolReply, CommandReply)


@dataclass(frozen=True, slots=True)
class Lost:
    """A call without a usable reply; `reason` is a sentence about the extension."""

    cause: Cause
    reason: str


class _Call:
    __slots__ = ("chat", "frame", "id", "kind", "slot", "timeout_s")

    def __init__(self, call_id: str, kind: type[Reply], timeout_s: float, chat: Chat | None) -> None:
        self.id, self.kind, self.timeout_s, self.chat = call_id, kind, timeout_s, chat
        self.slot: Slot[Reply | Lost] = Slot()
        self.frame: Frame | None = None

    def expire(self) -> None:
        self.slot.set(Lost("timeout", f"no answer within {round(self.timeout_s * 1000)} ms"))


class Calls:
    """`cancels`: the extension wants to hear of tool calls that nobody waits for any more."""

    def __init__(self, peer: ZotPeer, outbox: Outbox[Sent], deadlines: Deadlines) -> None:
        self.cancels = False
        self._peer = peer
        self._outbox = outbox
        self._deadlines = deadlines
        self._calls: dict[str, _Call] = {}
        self._ended = ""
        self._idle: trio.Event | None = None

    @property
    def chat(self) -> Chat | None:
        """The chat whose calls are in flight; None without one, and where there is more than one."""
        chats = {call.chat for call in self._calls.values() if call.chat is not None}
        return chats.pop() if len(chats) == 1 else None

    async def ask(
        self, kind: type[R], frame: Callable[[str], HostFrame], timeout_s: float, chat: Chat | None
    ) -> R | Lost:
        """The reply of this kind to the frame that gets the call's id; writing it is part of the time."""
        if self._ended:
            return Lost("disconnected", self._ended)
        call = _Call(self._peer.next_id(kind), kind, timeout_s, chat)
        self._calls[call.id] = call
        timer = self._deadlines.add(timeout_s, call.expire)
        try:
            self._send(call, line_of(frame(call.id)))
            return cast("R | Lost", await call.slot.wait())
        finally:
            self._deadlines.remove(timer)
            self._settle(call)

    def answered(self, reply: Reply | BadReply) -> None:
        """It belongs to a call in flight: the peer has seen to that."""
        outcome = Lost("bad reply", reply.reason) if isinstance(reply, BadReply) else reply
        self._calls.pop(reply.id).slot.set(outcome)

    def abandon(self, reason: str) -> None:
        self._ended = reason
        for call in self._calls.values():
            call.slot.set(Lost("disconnected", reason))

    async def drained(self) -> None:
        """Until no call is in flight."""
        while self._calls:
            self._idle = trio.Event()
            await self._idle.wait()

    def _send(self, call: _Call, line: bytes) -> None:
        if len(line) > MAX_LINE_BYTES:
            reason = f"a line of {len(line)} bytes is over the limit of {MAX_LINE_BYTES}"
            call.slot.set(Lost("too long", reason))
            return
        call.frame = self._outbox.send([line])
        if call.frame is None:
            call.slot.set(Lost("stuck", "it does not read its stdin"))

    def _settle(self, call: _Call) -> None:
        if self._calls.pop(call.id, None) is not None:
            self._withdraw(call)
        if not self._calls and self._idle is not None:
            self._idle.set()

    def _withdraw(self, call: _Call) -> None:
        self._peer.forget(call.id)
        if call.frame is None or self._outbox.withdraw(call.frame):
            return
        if self.cancels and call.kind is ToolReply:
            self._outbox.send([line_of(CancelTool(call.id))])
