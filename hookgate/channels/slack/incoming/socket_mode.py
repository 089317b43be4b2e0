"""Socket Mode: envelopes by a WebSocket, each acknowledged once it is stored. The next socket is there before the one
that the platform wants closed is left. Never gives up."""

from __future__ import annotations

from functools import partial

import structlog
import trio
from pydantic import ValidationError

from hookgate.channels.platforms.message import PlatformMessage
from hookgate.channels.platforms.sockets import Socket, SocketClosed, open_socket
from hookgate.channels.slack.api import Api, ApiFailed
from hookgate.channels.slack.connection import Connection
from hookgate.channels.slack.incoming.catching_up import CatchingUp
from hookgate.channels.slack.incoming.inbox import Inbox
from hookgate.channels.slack.settings import Secret
from hookgate.channels.slack.wire import Envelope, SocketUrl
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage

log = structlog.get_logger("hookgate.slack")

HELLO_S = 15.0
PING_S, PONG_S = 15.0, 10.0
LEAVE_S = 5.0
"""For what is in hand of a socket whose successor is there."""
MOST_IN_HAND = 500
"""Envelopes that are not stored yet; beyond them nothing is read."""


class SocketMode:
    """`catching_up` is wanted once events come again after none could: some may have been missed."""

    def __init__(
        self, api: Api, secret: Secret, inbox: Inbox, connection: Connection, catching_up: CatchingUp
    ) -> None:
        self._api, self._secret, self._inbox, self._connection = api, secret, inbox, connection
        self._catching_up = catching_up
        self._lines = 0
        """That have said hello and are not lost."""
        self._room = trio.Semaphore(MOST_IN_HAND)

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            before: trio.CancelScope | None = None
            while True:
                line = _Line(before)
                nursery.start_soon(self._hold, line, nursery)
                await line.leaving.wait()
                before = line.scope if line.is_up else before
                await trio.sleep(line.wait_s)

    async def _hold(self, line: _Line, nursery: trio.Nursery) -> None:
        """From its opening to its end."""
        try:
            with line.scope:
                await self._live(line, nursery)
        except (ApiFailed, SocketClosed) as error:
            self._lost(line)
            if not line.leaving.is_set():
                failed = error if isinstance(error, ApiFailed) else ApiFailed("", error.why)
                secret = self._secret if isinstance(error, ApiFailed) else None
                line.wait_s = self._connection.failed(failed, secret)
        finally:
            self._lost(line)
            line.leaving.set()

    def _lost(self, line: _Line) -> None:
        if line.is_up:
            line.is_up = False
            self._lines -= 1
            self._connection.listens = self._lines > 0

    async def _live(self, line: _Line, nursery: trio.Nursery) -> None:
        """Raises ApiFailed and SocketClosed."""
        try:
            url = SocketUrl.model_validate(await self._api.call("apps.connections.open", token=self._secret)).url
        except ValidationError:
            raise ApiFailed("", "it does not say where its socket is") from None
        async with open_socket(url) as socket:
            await self._greeted(socket)
            self._came_up(line, nursery)
            async with trio.open_nursery() as watching:
                watching.start_soon(self._watch, socket, line)
                try:
                    while not line.why:
                        await self._heard(await socket.receive(), socket, line, nursery)
                except SocketClosed as closed:
                    line.why = line.why or closed.why
                watching.cancel_scope.cancel()
            raise SocketClosed(line.why)

    async def _greeted(self, socket: Socket) -> None:
        """Raises SocketClosed."""
        with trio.move_on_after(HELLO_S):
            while _envelope(await socket.receive()).type != "hello":
                pass
            return
        raise SocketClosed(f"it did not say hello within {HELLO_S:g} s")

    def _came_up(self, line: _Line, nursery: trio.Nursery) -> None:
        is_first = self._lines == 0
        self._lines += 1
        line.is_up = True
        self._connection.listens = True
        self._connection.works()
        if is_first:
            self._catching_up.want()
        if line.before is not None:
            nursery.start_soon(_leave, line.before)

    async def _heard(self, text: str, socket: Socket, line: _Line, nursery: trio.Nursery) -> None:
        envelope = _envelope(text)
        if envelope.type == "disconnect":
            log.info("socket_to_be_closed", channel=self._inbox.reader.channel, reason=envelope.reason)
            if envelope.reason == "link_disabled":
                line.why = "Socket Mode is switched off for this app (link_disabled)"
            else:
                line.leaving.set()
        elif envelope.envelope_id:
            await self._room.acquire()
            nursery.start_soon(partial(self._take, envelope, socket))

    async def _take(self, envelope: Envelope, socket: Socket) -> None:
        try:
            heard = self._inbox.reader.read(envelope.type, envelope.payload)
            if isinstance(heard, PlatformMessage) and envelope.type == "events_api" and not heard.stops:
                await self._catching_up.before(heard)
            await self._inbox.take(heard)
            await socket.send(encode({"envelope_id": envelope.envelope_id}).decode())
            self._connection.works()
        except StoreFailed as error:
            self._connection.unstored(str(error))
        except SocketClosed:
            # It comes again by another one, and is known then.
            log.info("event_unacknowledged", channel=self._inbox.reader.channel)
        finally:
            self._room.release()

    async def _watch(self, socket: Socket, line: _Line) -> None:
        """A socket that answers no ping is none any more, whatever it is for the system. While nothing is read, no
        answer is."""
        while True:
            await trio.sleep(PING_S)
            try:
                await socket.ping(PONG_S)
            except SocketClosed as closed:
                if self._room.value:
                    line.why = line.why or closed.why
                    await socket.close()
                    return


class _Line:
    """One socket. `before`: of the one that it takes the place of. `leaving`: another one is wanted, `wait_s` from
    now. `why`: it is over."""

    def __init__(self, before: trio.CancelScope | None) -> None:
        self.before = before
        self.scope = trio.CancelScope()
        self.leaving = trio.Event()
        self.is_up = False
        self.wait_s = 0.0
        self.why = ""


async def _leave(scope: trio.CancelScope) -> None:
    await trio.sleep(LEAVE_S)
    scope.cancel()


def _envelope(text: str) -> Envelope:
    """What cannot be read is one of no kind."""
    try:
        return Envelope.model_validate(decode(text))
    except (ValidationError, BadMessage):
        log.warning("event_skipped", reason="an envelope that cannot be read")
        return Envelope(type="")
