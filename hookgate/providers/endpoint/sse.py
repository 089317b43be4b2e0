"""Server-sent events of one model answer: fed piece by piece to a Reading, within limits, up to the end marker.

Knows no HTTP client beyond "a body gives bytes", and no model API: what an event means is up to the Reading.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import AsyncIterator
from typing import Any, Protocol, cast

import trio
from httpx_sse import EventSource, ServerSentEvent

from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import JsonObject
from hookgate.providers.endpoint.faults import Site
from hookgate.providers.endpoint.patience import Watch
from hookgate.providers.foreign import object_of

MAX_EVENT = 8 << 20
MAX_REPLY = 64 << 20
"""Bytes of one event, or of an answer that comes in one piece, and of a whole stream; more is a failure of kind
format. As values JSON takes up to twenty times its size; what is around a streamed token is forty times the token."""
END_GRACE_S = 0.25
"""Seconds for the body to end after the end marker, so that the connection can serve the next call."""
COMPLETE_GRACE_S = 5.0
"""Seconds for the usage and the end marker to come once the answer itself is complete."""


_utf8 = getincrementaldecoder("utf-8-sig")


class Body(Protocol):
    def aiter_raw(self) -> AsyncIterator[bytes]: ...


class Reading(Protocol):
    """Makes sense of one answer. Does no I/O; both methods may raise ProviderFailed."""

    @property
    def begun(self) -> bool:
        """The model has said something, if only to itself."""
        ...

    @property
    def complete(self) -> bool:
        """The answer is whole; what happens to the connection from here on does not matter."""
        ...

    def take(self, event: JsonObject) -> bool:
        """One event of the stream; True where nothing can follow."""
        ...

    def take_whole(self, body: JsonObject) -> None:
        """The answer of a server that does not stream."""
        ...


class Feed:
    """One streamed body on its way to a Reading: watches sizes and the end.

    The loop over the body is left by its end or by cancelling, never by an exception of ours, which would drop
    the HTTP client's nested generators unclosed; `failure` is what the caller raises afterwards.
    """

    def __init__(self, site: Site, body: Body, reading: Reading, watch: Watch) -> None:
        self.failure: Exception | None = None
        self.headers = {"content-type": "text/event-stream"}
        self._site, self._body, self._reading, self._watch = site, body, reading, watch
        self._scope = trio.CancelScope()
        self._ended = False
        self._event_size = self._reply_size = 0

    @property
    def complete(self) -> bool:
        return self._ended or self._reading.complete

    async def run(self) -> None:
        with self._scope:
            # Of a response, httpx-sse uses the content type and `aiter_text` alone.
            async for event in EventSource(cast("Any", self)).aiter_sse():
                self._event_size = 0
                if self.failure is None and not self._ended:
                    self._pass_on(event)

    async def aiter_text(self) -> AsyncIterator[str]:
        decoder = _utf8("replace")
        async for piece in self._body.aiter_raw():
            self._watch.arrived(piece)
            self._event_size += len(piece)
            self._reply_size += len(piece)
            if self._event_size > MAX_EVENT:
                self._fail(self._site.failure("format", f"sent an event of more than {MAX_EVENT >> 20} MiB"))
            elif self._reply_size > MAX_REPLY:
                self._fail(self._site.failure("format", f"sent an answer of more than {MAX_REPLY >> 20} MiB"))
            if self.failure is None and (text := decoder.decode(piece)):
                yield text

    def _pass_on(self, event: ServerSentEvent) -> None:
        was_complete = self.complete
        try:
            self._ended = self._take(event)
        except Exception as error:
            self._fail(error)
        if self._reading.begun:
            self._watch.begin()
        if self._ended:
            self._scope.deadline = trio.current_time() + END_GRACE_S
        elif self.complete and not was_complete:
            self._scope.deadline = trio.current_time() + COMPLETE_GRACE_S

    def _take(self, event: ServerSentEvent) -> bool:
        data = event.data.strip()
        if data in ("", "[DONE]"):
            return data != ""
        members = parsed(self._site, data)
        if members.get("error") or event.event == "error":
            raise self._site.broken_off(members)
        return self._reading.take(members)

    def _fail(self, failure: Exception) -> None:
        self.failure = self.failure or failure
        self._scope.cancel()


def parsed(site: Site, text: bytes | str) -> JsonObject:
    """The object in a text; empty where it is some other JSON. Raises ProviderFailed where it is none."""
    try:
        return object_of(decode(text))
    except BadMessage as error:
        raw = text if isinstance(text, str) else text.decode("utf-8", "replace")
        raise site.failure("server", "sent something that is not JSON", detail=f"{error}: {raw}") from None
