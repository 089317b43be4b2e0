"""hookgate's side of a JSON-RPC 2.0 conversation, without I/O: calls to bytes, bytes to what they mean.

Knows ids and which are pending; does not know what a method means, when a call has waited too long, or who
reads the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from hookgate.protocol.codec import decode, encode, repeated_member
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.framing import MAX_MESSAGE_BYTES, LineSplitter, Oversize

METHOD_NOT_FOUND = -32601
LARGE_BYTES = 16 * 1024
"""Of a changed value; in one that is larger, members that decide nothing are not looked at twice."""
_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]{1,15})\s*,(?!\s*"method")')
"""An id at the beginning of a reply; one further in may be a member of anything."""

_HEAD = re.compile(
    rb'\{(?:"jsonrpc": ?"2\.0", ?"id": ?([1-9][0-9]{0,14})|"id": ?([1-9][0-9]{0,14}), ?"jsonrpc": ?"2\.0")'
    rb', ?"result": ?'
)
"""As most write it, and as those do whose library sorts the members of an object, Go's among them."""
MAX_KNOWN = 8
"""Answers that are known again. Nearly every hook says "continue" to nearly every call, and one that adds tools says
the same to each."""

Params = Sequence[bytes | memoryview]
"""An encoded JSON object in pieces: more than two only where it is so large that it should not be copied."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a pending call; None where the member is null or absent."""

    id: int
    result: Any


@dataclass(frozen=True, slots=True)
class ErrorReply:
    id: int
    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The other side asked for a method; `answer` is the frame that says there is none."""

    method: str
    answer: bytes


@dataclass(frozen=True, slots=True)
class Stray:
    """A reply that nobody waits for: late, duplicate, or with an id that was never given."""

    id: object


@dataclass(frozen=True, slots=True)
class Noise:
    """A line that is no JSON-RPC message; cut to a length that a log can hold."""

    line: str


Incoming = Reply | ErrorReply | Refused | Stray | Noise | Oversize


class Peer:
    """Gives ids from 1, remembers which are pending, and reads replies in any order."""

    def __init__(self, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._lines = LineSplitter(max_message_bytes)
        self._last_id = 0
        self._pending: set[int] = set()
        self._known: dict[bytes, Reply] = {}

    @property
    def begun(self) -> bytes:
        """How a line begins that has not ended."""
        return self._lines.begun

    def request(self, method: str, params: Params) -> tuple[int, list[bytes | memoryview]]:
        """A new pending call: its id, and its line in pieces, to be written one after the other."""
        call_id = self._last_id = self._last_id + 1
        self._pending.add(call_id)
        parts = [_head(method) % call_id, *params, b"}\n"]
        return call_id, [b"".join(parts)] if len(params) <= 2 else parts

    def forget(self, call_id: int) -> None:
        """Nobody waits for this call any more: its reply will be Stray."""
        self._pending.discard(call_id)

    def receive(self, data: bytes) -> list[Incoming]:
        """What this chunk of the stream completes, in the order it was written. Blank lines mean nothing."""
        complete: list[Incoming] = []
        for line in self._lines.feed(data):
            if isinstance(line, Oversize):
                complete.append(self._lost(line))
            elif (incoming := self._answer(line)) is not None:
                complete.append(incoming)
        return complete

    def _lost(self, line: Oversize) -> ErrorReply | Oversize:
        """A line over the cap is not parsed, but whose answer it was to be usually stands at its beginning."""
        found = _ID.match(line.head)
        call_id = int(found[1]) if found else 0
        if call_id not in self._pending:
            return line
        self._pending.discard(call_id)
        return ErrorReply(call_id, f"its answer of {line.size} bytes is over the limit")

    def _answer(self, line: bytes) -> Incoming | None:
        """Read, unless all of it but its id has been read before: then its result is the very same value. None: the
        line is blank."""
        head = _HEAD.match(line)
        if head is None or len(line) > LARGE_BYTES:
            return self._read(line) if line.strip() else None
        rest, call_id = line[head.end() :], int(head[1] or head[2])
        known = self._known.get(rest)
        if known is not None and call_id in self._pending:
            self._pending.remove(call_id)
            return Reply(call_id, known.result)
        read = self._read(line)
        # Behind its result may stand another id, which then counts.
        if isinstance(read, Reply) and read.id == call_id:
            if len(self._known) >= MAX_KNOWN:
                self._known.pop(next(iter(self._known)))
            self._known[rest] = read
        return read

    def _read(self, line: bytes) -> Incoming:
        # A stray print is by far the most common noise, and a flood of it must be cheap.
        if not line.lstrip().startswith(b"{"):
            return Noise(_shown(line))
        try:
            message = decode(line)
        except BadMessage:
            return Noise(_shown(line))
        if not isinstance(message, dict):
            return Noise(_shown(line))
        members = cast("dict[str, Any]", message)
        if "method" in members:
            return _refused(members)
        if "result" not in members and "error" not in members and "id" not in members:
            return Noise(_shown(line))
        return self._reply(members, line)

    def _reply(self, members: dict[str, Any], line: bytes) -> Reply | ErrorReply | Stray:
        call_id = members.get("id")
        # type() and not isinstance: True is an int in Python and equals 1, but is no id.
        if type(call_id) is not int or call_id not in self._pending:
            return Stray(call_id)
        self._pending.discard(call_id)
        repeated = _repeated(members, line)
        if repeated is not None:
            return ErrorReply(call_id, f"its answer has the member {repeated[:80]!r} twice")
        if members.get("error") is not None:
            return ErrorReply(call_id, _error_text(members["error"]))
        return Reply(call_id, members.get("result"))


@lru_cache(maxsize=64)
def _head(method: str) -> bytes:
    """Without the id."""
    return b'{"jsonrpc":"2.0","id":%%d,"method":"%b","params":' % method.encode().replace(b"%", b"%%")


def request_frame(call_id: int, method: str, params: bytes) -> bytes:
    return b"".join((_head(method) % call_id, params, b"}\n"))


def notification_frame(method: str, params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","method":"%s","params":%s}\n' % (method.encode(), params)


def _refused(members: dict[str, Any]) -> Refused | Noise:
    method = str(members["method"])[:200]
    if members.get("id") is None:
        return Noise(f"notification {method}")
    error = {"code": METHOD_NOT_FOUND, "message": "hookgate offers no methods to hooks"}
    answer = encode({"jsonrpc": "2.0", "id": members["id"], "error": error}) + b"\n"
    return Refused(method, answer)


def _repeated(members: dict[str, Any], line: bytes) -> str | None:
    """The name of a member that says two things, so that nobody can tell which of them is the answer."""
    match members.get("result"):
        case {"action": "modify"} if len(line) > LARGE_BYTES and line.count(b'"action"') == 1:
            return None
        case _:
            return repeated_member(line, members)


def _error_text(error: object) -> str:
    if not isinstance(error, dict):
        return f"error: {str(error)[:500]}"
    members = cast("dict[str, Any]", error)
    return f"error {members.get('code', '?')}: {str(members.get('message', ''))[:500]}"


def _shown(line: bytes) -> str:
    return line[:200].decode("utf-8", "replace")
