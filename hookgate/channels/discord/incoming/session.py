"""One connection to Discord's gateway: hello, heartbeats, who the bot is or where it goes on, dispatches.

Ends by SocketClosed alone; knows neither what a dispatch means nor when to connect again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import field
from time import time

import structlog
import trio
from pydantic import ValidationError

from hookgate.channels.discord.connection import Connection
from hookgate.channels.discord.incoming.inbox import Inbox
from hookgate.channels.discord.wire import Hello, Payload, Ready
from hookgate.channels.platforms.sockets import Socket, SocketClosed
from hookgate.protocol.dataclasses import dataclass

log = structlog.get_logger("hookgate.discord")

HEARTBEAT, IDENTIFY, RESUME, HELLO = 1, 2, 6, 10
HELLO_S = 20.0
READY_S = 60.0
"""A session that has not begun by then does not."""
PROPERTIES = {"os": "linux", "browser": "hookgate", "device": "hookgate"}


@dataclass(frozen=True, slots=True)
class Identity:
    """What the bot identifies with. `shard`: its number, and how many there are."""

    token: str = field(repr=False)
    intents: int
    shard: tuple[int, int] = (0, 1)

    @property
    def told(self) -> dict[str, object]:
        shard = {"shard": self.shard} if self.shard[1] > 1 else {}
        return {"token": self.token, "intents": self.intents, **shard}


NOTHING = Payload(op=-1, s=None)


class SessionEnded(SocketClosed):
    """By the gateway's own word. `resumable`: what was there can be gone on with."""

    def __init__(self, why: str, *, resumable: bool) -> None:
        super().__init__(why)
        self.resumable = resumable


class Session:
    """Resumed where the inbox has a place in one. `begun` is told once it stands, with whether it is a new one."""

    def __init__(
        self, socket: Socket, inbox: Inbox, connection: Connection, begun: Callable[[bool], Awaitable[None]]
    ) -> None:
        self._socket, self._inbox, self._connection, self._begun = socket, inbox, connection, begun
        self._interval_s = self._beat_at = 0.0
        self._is_alive = True
        """Something has come since the last heartbeat, or nobody could read it."""
        self._stands = False

    async def run(self, identity: Identity) -> None:
        """Until it raises SocketClosed."""
        self._interval_s = self._hello(await self._socket.receive(HELLO_S))
        # Those of many do not come in step.
        self._beat_at = trio.current_time() + self._interval_s * random.random()  # noqa: S311 - no secret
        at = self._inbox.places.session
        if at.session:
            await self._send(RESUME, {"token": identity.token, "session_id": at.session, "seq": at.seq})
        else:
            await self._send(IDENTIFY, {**identity.told, "properties": PROPERTIES})
        stands_by = trio.current_time() + READY_S
        while True:
            await self._next()
            if not self._stands and trio.current_time() > stands_by:
                raise SocketClosed(f"no session stood within {READY_S:g} s")

    def _hello(self, text: str) -> float:
        """The seconds between two heartbeats."""
        payload = _payload(text)
        try:
            if payload.op == HELLO:
                return Hello.model_validate(payload.d).heartbeat_interval / 1000
        except ValidationError:
            pass
        raise SocketClosed("it begins with something else than hello")

    async def _next(self) -> None:
        """A message, or a heartbeat where one is due. While the inbox is full nothing is read, but hearts beat."""
        text = None
        with trio.move_on_at(self._beat_at):
            # What nobody reads cannot be an answer.
            self._is_alive = self._is_alive or self._inbox.is_full
            await self._inbox.room()
            text = await self._socket.receive()
        if text is not None:
            self._is_alive = True
            await self._take(_payload(text))
        if trio.current_time() >= self._beat_at:
            if not self._is_alive:
                raise SocketClosed("it answers heartbeats no more")
            await self._beat()

    async def _beat(self) -> None:
        self._is_alive = False
        self._beat_at = trio.current_time() + self._interval_s
        await self._send(HEARTBEAT, self._inbox.places.session.seq or None)

    async def _send(self, op: int, data: object) -> None:
        await self._socket.send(json.dumps({"op": op, "d": data}))

    async def _take(self, payload: Payload) -> None:
        match payload.op:
            case 0:
                await self._dispatched(payload)
            case 1:
                await self._beat()
            case 7:
                raise SessionEnded("it asks for another connection", resumable=True)
            case 9:
                raise SessionEnded("the session is none any more", resumable=payload.d is True)
            case 11:
                if self._stands:
                    self._connection.works()
            case _:
                log.debug("payload_skipped", op=payload.op)

    async def _dispatched(self, payload: Payload) -> None:
        places = self._inbox.places
        if payload.t == "READY":
            try:
                ready = Ready.model_validate(payload.d)
            except ValidationError:
                raise SocketClosed("it does not say which session this is") from None
            places.begin(ready.session_id, ready.resume_gateway_url, time())
        places.receive(payload.s or 0)
        if payload.t in ("READY", "RESUMED"):
            self._stands = True
            self._connection.works()
            await self._begun(payload.t == "READY")
        else:
            self._inbox.take(payload.t or "", payload.d)


def _payload(text: str) -> Payload:
    """One that cannot be read means nothing."""
    try:
        # Half a character that somebody sends is no reason to lose the rest.
        return Payload.model_validate(json.loads(text))
    except (ValueError, RecursionError):
        log.warning("payload_skipped", reason="it cannot be read")
        return NOTHING
