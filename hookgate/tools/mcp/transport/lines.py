"""Bytes that a stdio server writes into JSON-RPC messages. Knows no process; an answer that cannot be read becomes
an error answer, so that whoever waits for it is not left waiting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.framing import MAX_MESSAGE_BYTES, LineSplitter, Oversize
from hookgate.tools.mcp.transport.tap import Tap

if TYPE_CHECKING:
    from mcp_types import JSONRPCMessage

PARSE_ERROR = -32700
_TAIL_BYTES = 256
# The id stands right at the start or right at the end of an answer, as the usual libraries write it.
_ID_FIRST = re.compile(rb'\A\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*[,}]')
_ID_LAST = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


class Lines:
    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        self._splitter = LineSplitter(MAX_MESSAGE_BYTES)
        self._recent = b""

    def feed(self, data: bytes) -> Iterator[JSONRPCMessage]:
        """The messages that this chunk completes. A line that is none is counted and left out."""
        end = data.find(b"\n")
        tail = (self._recent + data[: max(end, 0)])[-_TAIL_BYTES:]
        self._recent = (self._recent + data)[-_TAIL_BYTES:]
        for line in self._splitter.feed(data):
            message = self._lost(line, tail) if isinstance(line, Oversize) else self._read(line)
            if message is not None:
                yield message

    def _read(self, line: bytes) -> JSONRPCMessage | None:
        from mcp_types import jsonrpc_message_adapter

        if not line.strip():
            self._tap.useless()
            return None
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            message = self._mended(line)
        if message is None or self._tap.unasked(message):
            self._tap.unasked_bytes(len(line))
        return message

    def _mended(self, line: bytes) -> JSONRPCMessage | None:
        """Lone surrogates, which the SDK's parser refuses; else an answer to whoever waits, else nothing."""
        from mcp_types import jsonrpc_message_adapter

        try:
            value = decode(line)
        except BadMessage as error:
            return self._junk(line, _first_id(line[:_TAIL_BYTES], line[-_TAIL_BYTES:]), str(error))
        try:
            return jsonrpc_message_adapter.validate_python(value, by_name=False)
        except ValueError:
            return self._junk(line, _answered_id(value), "it is no JSON-RPC message")

    def _junk(self, line: bytes, request_id: int | str | None, why: str) -> JSONRPCMessage | None:
        self._tap.junk(line[:200].decode("utf-8", "replace"))
        return None if request_id is None else _error(request_id, f"its answer cannot be read: {why[:200]}")

    def _lost(self, line: Oversize, tail: bytes) -> JSONRPCMessage | None:
        """Without an id nobody can be told, and somebody may wait: then the whole connection is of no use."""
        size = f"{line.size} bytes, more than {MAX_MESSAGE_BYTES}"
        self._tap.junk(f"a line of {size}")
        request_id = _first_id(line.head, tail)
        if request_id is not None:
            return _error(request_id, f"its answer has {size}")
        self._tap.ending.end(f"it sent a line of {size}")
        return None


def _first_id(head: bytes, tail: bytes) -> int | None:
    found = _ID_FIRST.search(head) or _ID_LAST.search(tail)
    return int(found[1]) if found else None


def _answered_id(value: object) -> int | str | None:
    """The id of what was meant as an answer."""
    if not isinstance(value, dict) or "method" in value:
        return None
    request_id = cast("dict[str, Any]", value).get("id")
    return request_id if isinstance(request_id, int | str) and not isinstance(request_id, bool) else None


def _error(request_id: int | str, reason: str) -> JSONRPCMessage:
    from mcp_types import ErrorData, JSONRPCError

    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=PARSE_ERROR, message=reason))
