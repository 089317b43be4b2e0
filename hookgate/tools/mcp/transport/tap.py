"""What passes between a transport and the SDK: notifications are taken out, floods and the end are noticed.

The SDK starts a task for each message, drops notifications that it does not know, and tells of a lost connection
only at the next call.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

import structlog

from hookgate.protocol.values import JsonObject
from hookgate.tools.mcp.transport.ending import Ending, Flood

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage, JSONRPCNotification

log = structlog.get_logger("hookgate.mcp")

LIST_CHANGED = "notifications/tools/list_changed"
# Bookkeeping of the SDK's own requests and answers.
_FOR_THE_SDK = frozenset({"notifications/cancelled", "notifications/subscriptions/acknowledged"})
# Progress is never asked for, and prompts and resources are not used.
_OF_NO_USE = frozenset(
    {"notifications/progress", "notifications/prompts/list_changed", "notifications/resources/list_changed"}
)

FLOOD_MESSAGES, FLOOD_WINDOW_S = 20_000, 10.0
BYTES_PER_MESSAGE = 4096
"""What is longer counts as so many messages: reading it takes as long."""
MAX_ASKED = 64
"""Requests of a server that are not answered yet: each is a task of the SDK's."""
_LOUD = 10


class Tap:
    """One connection's messages. `heard(method, params)` gets what the server tells of its own accord."""

    def __init__(self, name: str, ending: Ending, heard: Callable[[str, JsonObject], None]) -> None:
        self.name = name
        self.ending = ending
        self._heard = heard
        self._useless = Flood(FLOOD_MESSAGES, FLOOD_WINDOW_S)
        self._asked = 0
        self._awaited = set[str]()
        self._junk = 0

    def passes(self, message: JSONRPCMessage) -> bool:
        """Whether the SDK is to see this message."""
        from mcp_types import JSONRPCNotification, JSONRPCRequest

        match message:
            case JSONRPCNotification():
                return self._take(message)
            case JSONRPCRequest():
                self._asked += 1
                if self._asked > MAX_ASKED:
                    self.ending.end(f"it asks for more than {MAX_ASKED} things at once")
                return not self.ending.event.is_set()
            case _:
                if self.unasked(message):
                    self.useless()
                self._awaited.discard(str(message.id))
                return True

    def unasked(self, message: JSONRPCMessage) -> bool:
        """Whether this answers nothing that was asked, or nothing that still waits."""
        from mcp_types import JSONRPCError, JSONRPCResponse

        answers = isinstance(message, JSONRPCResponse | JSONRPCError)
        return not answers or str(message.id) not in self._awaited

    def asks(self, request_id: int | str) -> None:
        """A request is on its way to the server."""
        self._awaited.add(str(request_id))

    def answered(self) -> None:
        """One of the server's requests has its answer, or at least a place in the queue to it."""
        self._asked -= 1

    def junk(self, what: str) -> None:
        """The server sent something that is no message."""
        self._junk += 1
        if self._junk <= _LOUD or self._junk % 1000 == 0:
            log.warning("mcp_junk", connection=self.name, what=what[:200], count=self._junk)
        self.useless()

    def _take(self, message: JSONRPCNotification) -> bool:
        self.useless()
        if message.method in _FOR_THE_SDK:
            return not self.ending.event.is_set()
        if message.method not in _OF_NO_USE:
            self._heard(message.method, message.params or {})
        return False

    def useless(self) -> None:
        """One more thing that nobody waits for."""
        self._weigh(1)

    def unasked_bytes(self, size: int) -> None:
        """How long a message was that nobody waits for."""
        self._weigh(size // BYTES_PER_MESSAGE)

    def _weigh(self, weight: int) -> None:
        if self._useless.over(weight):
            most = f"{FLOOD_MESSAGES} unasked-for messages, or {FLOOD_MESSAGES * BYTES_PER_MESSAGE >> 20} MiB of them"
            self.ending.end(f"it sent more than {most}, in {FLOOD_WINDOW_S:g} s")


class ReadTap:
    """The read half of a transport, as the SDK sees it. `judged`: the tap has seen what comes."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], tap: Tap, *, judged: bool = False) -> None:
        self._inner, self._tap, self._judged = inner, tap, judged

    async def receive(self) -> SessionMessage | Exception:
        import anyio

        while True:
            try:
                item = await self._inner.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                self._tap.ending.end(self._tap.ending.foreseen)
                raise
            if isinstance(item, Exception):
                self._tap.junk(str(item))
            elif self._judged or self._tap.passes(item.message):
                return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> ReadTap:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> ReadTap:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class WriteTap:
    """The write half, likewise."""

    def __init__(self, inner: WriteStream[SessionMessage], tap: Tap) -> None:
        self._inner, self._tap = inner, tap

    async def send(self, item: SessionMessage, /) -> None:
        from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

        if isinstance(item.message, JSONRPCRequest):
            self._tap.asks(item.message.id)
        await self._inner.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._tap.answered()

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> WriteTap:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()
