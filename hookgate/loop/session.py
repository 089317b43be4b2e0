"""One conversation: its transcript, its queue of messages, its running turn. One turn at a time."""

from __future__ import annotations

from collections import deque

import structlog
import trio

from hookgate.loop.agent import Agent
from hookgate.loop.transcript import Transcript
from hookgate.loop.turn import Turn, run_turn
from hookgate.protocol.errors import SessionAborted
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.values import Inbound, Outbound

log = structlog.get_logger("hookgate.loop")

MAX_QUEUED = 20


class Session:
    """Each queued message gets its answer, in order; a full queue says so to whoever wrote."""

    def __init__(self, agent: Agent, channel: Channel, key: str) -> None:
        self.key = key
        self.transcript = Transcript()
        self._agent = agent
        self._channel = channel
        self._queue: deque[Inbound] = deque()
        self._turn: trio.CancelScope | None = None
        self._running = False
        self._idle = trio.Event()
        self._idle.set()

    @property
    def busy(self) -> bool:
        return self._turn is not None

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def offer(self, inbound: Inbound) -> bool:
        """Queue a message; False when the queue is full."""
        if len(self._queue) >= MAX_QUEUED:
            return False
        self._queue.append(inbound)
        self._idle = trio.Event() if self._idle.is_set() else self._idle
        return True

    def stop(self) -> bool:
        """End the running turn now; the user's message stays in the transcript.

        False when nothing runs, or when it is ending already.
        """
        if self._turn is None or self._turn.cancel_called:
            return False
        self._turn.cancel()
        return True

    async def run(self) -> None:
        """Answer what is queued, until nothing is. A second call while one runs returns at once."""
        if self._running:
            return
        self._running = True
        try:
            while self._queue:
                await self._answer(self._queue.popleft())
        finally:
            self._running = False
            self._idle.set()

    async def idle(self) -> None:
        """Until everything queued is answered."""
        await self._idle.wait()

    async def _answer(self, inbound: Inbound) -> None:
        turn = Turn(self._agent, self._channel, self.transcript, inbound, self._turn_id())
        with trio.CancelScope() as self._turn:
            try:
                await run_turn(turn)
            except SessionAborted:
                self._queue.clear()
            except Exception:
                log.exception("turn_crashed", session=self.key, turn=turn.id)
                await self._channel.send(_sorry(inbound, turn.id))
        stopped = self._turn.cancelled_caught
        self._turn = None
        if stopped:
            await self._channel.send(Outbound(inbound.chat, "Stopped.", kind="notice"))

    def _turn_id(self) -> str:
        return f"{self._agent.name}-turn-{next(self._agent.numbers)}"


def _sorry(inbound: Inbound, turn_id: str) -> Outbound:
    text = f"Something went wrong inside hookgate; the log has it under {turn_id}."
    return Outbound(inbound.chat, text, kind="error")
