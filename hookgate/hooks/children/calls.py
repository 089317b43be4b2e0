"""Calls in flight at one hook process: each ends once, with its answer or with why there is none.

How many a hook has at a time, and which write their own lines, is decided here. What an answer leads to is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

import trio

from hookgate.processes.deadlines import Deadlines
from hookgate.processes.outbox import Frame, Outbox
from hookgate.processes.slot import UNSET, Slot
from hookgate.protocol.codec import encode
from hookgate.protocol.events.event import Event
from hookgate.protocol.hook.answers import Failed
from hookgate.protocol.hook.peer import ErrorReply, Params, Peer, Reply, notification_frame

FEW_CALLS = 2
"""Up to this many in flight a call writes its own line. With more, or when several answers came at once and so
several callers are about to ask again, the writer task joins the lines of all."""
MAX_WAITING_CALLS = 1024

Settled = Reply | ErrorReply | Failed
Said = tuple[str, Callable[[float], Params]]
"""A method, and its params where so many seconds are left."""


class Call(Slot[Settled]):
    """From being asked to being settled; `call_id` and `frame` are set once it has left the waiting line. A cancelled
    wait gives it up."""

    __slots__ = ("_give_up", "call_id", "deadline", "frame", "timeout_s")

    def __init__(self, timeout_s: float, give_up: Callable[[Call], None]) -> None:
        self._value, self._task, self._give_up = UNSET, None, give_up
        self.timeout_s, self.deadline = timeout_s, monotonic() + timeout_s
        self.call_id = 0
        self.frame: Frame | None = None

    @property
    def unanswered(self) -> str:
        return f"no answer within {round(self.timeout_s * 1000)} ms"

    def _abort(self, raise_cancel: object) -> trio.lowlevel.Abort:
        self._give_up(self)
        return super()._abort(raise_cancel)


class Calls:
    """`limit`: how many it may have at a time; more wait. `cancels`: it wants to hear of calls that nobody waits for
    any more."""

    def __init__(self, peer: Peer, outbox: Outbox[Event], deadlines: Deadlines, limit: int) -> None:
        self.limit = limit
        self.cancels = False
        self._burst = False
        self._peer, self._outbox, self._deadlines = peer, outbox, deadlines
        self._calls: dict[int, Call] = {}
        self._waiting: dict[Call, Said] = {}
        self._ended = ""
        self._idle: trio.Event | None = None

    def begin(self, method: str, params: Callable[[float], Params], timeout_s: float) -> Call:
        """To be waited for. What is said is encoded when it is sent, for the seconds that are left then."""
        call = Call(timeout_s, self._give_up)
        if self._ended:
            call.set(Failed(self._ended))
        elif len(self._calls) < self.limit:
            self._start(call, (method, params), timeout_s)
        elif len(self._waiting) < MAX_WAITING_CALLS:
            self._waiting[call] = method, params
        else:
            call.set(Failed(f"{MAX_WAITING_CALLS} calls already wait for it"))
        return call

    def answered(self, replies: Sequence[Reply | ErrorReply]) -> None:
        """All that came at once. Each belongs to a call in flight: the peer has seen to that."""
        self._burst = len(replies) > 1
        for reply in replies:
            self._calls.pop(reply.id).set(reply)
        self._go_on()

    def abandon(self, reason: str) -> None:
        """Every caller wakes, once."""
        self._ended = reason
        for call in [*self._calls.values(), *self._waiting]:
            call.set(Failed(reason))
        self._calls.clear()
        self._waiting.clear()
        self._go_on()

    async def drained(self) -> None:
        """Until no call is in flight."""
        while self._calls:
            self._idle = trio.Event()
            await self._idle.wait()

    def expire(self, now: float) -> bool:
        for call in (*self._calls.values(), *self._waiting):
            if call.deadline <= now:
                call.set(Failed(call.unanswered))
                self._give_up(call)
        return bool(self._calls)

    def _give_up(self, call: Call) -> None:
        """Nobody waits for it any more; a hook that wants to know is told to stop."""
        self._waiting.pop(call, None)
        if self._calls.pop(call.call_id, None) is not None:
            self._withdraw(call)
            self._go_on()

    def _go_on(self) -> None:
        """A place may be free for the next."""
        while self._waiting and len(self._calls) < self.limit:
            following = next(iter(self._waiting))
            said = self._waiting.pop(following)
            self._start(following, said, max(0.0, following.deadline - monotonic()))
        if not self._calls and self._idle is not None:
            self._idle.set()

    def _start(self, call: Call, said: Said, left_s: float) -> None:
        if not self._calls:
            self._deadlines.watch(self)
        call.call_id, line = self._peer.request(said[0], said[1](left_s))
        self._calls[call.call_id] = call
        call.frame = self._outbox.send(line, at_once=len(self._calls) <= FEW_CALLS and not self._burst)
        # Once it is closed the end is near, and wakes every caller.
        if call.frame is None and not self._outbox.closed:
            call.set(Failed("it does not read its stdin"))
            del self._calls[call.call_id]
            self._peer.forget(call.call_id)

    def _withdraw(self, call: Call) -> None:
        self._peer.forget(call.call_id)
        if call.frame is not None and self._outbox.withdraw(call.frame):
            return
        if self.cancels:
            self._outbox.send([notification_frame("hook.cancel", encode({"id": call.call_id}))])
