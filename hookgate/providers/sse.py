"""Server-sent events of one model answer: fed piece by piece to a Reading, within limits, up to the end marker.

Does no I/O, and knows no model API: what an event means is up to the Reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import trio

from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import JsonObject
from hookgate.providers.faults import Site
from hookgate.providers.foreign import object_of
from hookgate.providers.patience import Watch

MAX_EVENT = 8 << 20
MAX_REPLY = 64 << 20
"""Bytes of one event, or of an answer that comes in one piece, and of a whole stream; more is a failure of kind
format. As values JSON takes up to twenty times its size; what is around a streamed token is forty times the token."""
END_GRACE_S = 0.25
"""Seconds for the body to end after the end marker, so that the connection can serve the next call."""
COMPLETE_GRACE_S = 5.0
"""Seconds for the usage and the end marker to come once the answer itself is complete."""


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


class Events:
    """The name and the data of each event in a stream that comes in any pieces. `waiting`: bytes of one that has not
    ended yet."""

    def __init__(self) -> None:
        self.waiting = 0
        self._rest: list[bytes] = []
        self._name, self._data = b"", list[bytes]()
        self._first, self._returned = True, False

    def take(self, piece: bytes) -> Iterator[tuple[str, str]]:
        """Those that end in it. A line ends with LF, CR or both, which may come in two pieces."""
        if self._returned:
            piece = piece.removeprefix(b"\n")
        self.waiting += len(piece)
        self._returned = piece.endswith(b"\r")
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest.clear()
        self._rest.append(rest)
        for line in lines:
            if line:
                self._read(line)
                continue
            if self._data or self._name:
                yield self._name.decode("utf-8", "replace"), b"\n".join(self._data).decode("utf-8", "replace")
            self._name, self._data, self.waiting = b"", [], len(rest)

    def _read(self, line: bytes) -> None:
        if self._first:
            self._first, line = False, line.removeprefix(b"\xef\xbb\xbf")
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name == b"event":
            self._name = value.removeprefix(b" ")


class Feed:
    """One streamed body on its way to a Reading: watches sizes and the end. To be fed within `scope`, which ends soon
    after the answer does."""

    def __init__(self, site: Site, reading: Reading, watch: Watch) -> None:
        self.scope = trio.CancelScope()
        self._site, self._reading, self._watch = site, reading, watch
        self._events = Events()
        self._ended = False
        self._size = 0

    @property
    def complete(self) -> bool:
        return self._ended or self._reading.complete

    def take(self, piece: bytes) -> None:
        """Raises ProviderFailed."""
        self._watch.arrived(piece)
        self._size += len(piece)
        if self._size > MAX_REPLY:
            raise self._site.failure("format", f"sent an answer of more than {MAX_REPLY >> 20} MiB")
        for name, data in self._events.take(piece):
            if not self._ended:
                self._pass_on(name, data.strip())
        if self._events.waiting > MAX_EVENT:
            raise self._site.failure("format", f"sent an event of more than {MAX_EVENT >> 20} MiB")

    def _pass_on(self, name: str, data: str) -> None:
        was_complete = self.complete
        if data == "[DONE]":
            self._ended = True
        elif data:
            members = parsed(self._site, data)
            if members.get("error") or name == "error":
                raise self._site.broken_off(members)
            self._ended = self._reading.take(members)
        if self._reading.begun:
            self._watch.begin()
        if self._ended:
            self.scope.deadline = trio.current_time() + END_GRACE_S
        elif self.complete and not was_complete:
            self.scope.deadline = trio.current_time() + COMPLETE_GRACE_S


def parsed(site: Site, text: bytes | str) -> JsonObject:
    """The object in a text; empty where it is some other JSON. Raises ProviderFailed where it is none."""
    try:
        return object_of(decode(text))
    except BadMessage as error:
        raw = text if isinstance(text, str) else text.decode("utf-8", "replace")
        raise site.failure("server", "sent something that is not JSON", detail=f"{error}: {raw}") from None
