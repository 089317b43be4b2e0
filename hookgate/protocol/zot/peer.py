"""hookgate's side of the conversation with one extension, without I/O: ids out, bytes in, frames and replies up.

Knows which ids are pending and what kind of reply each waits for; does not know what a frame leads to, when a call
has waited too long, or who reads the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from hookgate.protocol.codec import decode, repeated_member
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.framing import MAX_MESSAGE_BYTES, LineSplitter, Oversize
from hookgate.protocol.zot.frames import CommandReply, Frame, InterceptReply, Reply, ToolReply, ToolWanted
from hookgate.protocol.zot.reading import may_restrict, read_frame, restricts

ReplyKind = type[InterceptReply] | type[ToolReply] | type[CommandReply]

_REPLIES: Mapping[str, ReplyKind] = {it.type: it for it in (InterceptReply, ToolReply, CommandReply)}
_OPEN = re.compile(rb"\s*\{")
_MEMBER = re.compile(rb'\s*"([^"\\]*)"\s*:\s*(?:"([^"\\]*)"|true|false|null|-?[0-9.]+)\s*,?')
_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class BadReply:
    """The reply of a pending call cannot be read: that call has failed, and `reason` says how."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Stray:
    """A reply that nobody waits for: late, duplicate, of another kind, or with an id that was never given."""

    type: str
    id: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that is no frame, with the reason; cut to a length that a log can hold. `type`: where it has a known
    one, and what belongs to that is wrong."""

    reason: str
    line: str
    type: str = ""


Incoming = Frame | BadReply | Stray | Malformed | Oversize


class ZotPeer:
    """Gives ids "1", "2", ... and reads replies in any order. A Reply that comes up belongs to a pending call."""

    def __init__(self, max_line_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._lines = LineSplitter(max_line_bytes)
        self._last_id = 0
        self._pending: dict[str, ReplyKind] = {}

    def next_id(self, kind: ReplyKind) -> str:
        """The id of a new pending call that waits for such a reply."""
        self._last_id += 1
        call_id = str(self._last_id)
        self._pending[call_id] = kind
        return call_id

    def forget(self, call_id: str) -> None:
        """Nobody waits for this call any more: its reply will be Stray."""
        self._pending.pop(call_id, None)

    def receive(self, data: bytes) -> list[Incoming]:
        """What this chunk of the stream completes, in the order it was written. Blank lines mean nothing."""
        return [
            self._lost(line) if isinstance(line, Oversize) else self._read(line)
            for line in self._lines.feed(data)
            if isinstance(line, Oversize) or line.strip()
        ]

    def _lost(self, line: Oversize) -> InterceptReply | BadReply | ToolWanted | Oversize:
        """A line over the cap is not parsed."""
        return self._unread(line.head, f"its answer of {line.size} bytes is over the limit") or line

    def _unread(self, line: bytes, reason: str) -> InterceptReply | BadReply | ToolWanted | None:
        """Who waits for an answer, or for the answer to it, often stands at the beginning of a line."""
        members = _first_members(line[:_HEAD_BYTES])
        kind, call_id = members.get("type", ""), members.get("id", "")
        if kind == ToolWanted.type and call_id:
            return ToolWanted(call_id, members.get("name", ""), None, members.get("parent_id", ""))
        awaited = self._pending.get(call_id)
        if awaited is None or kind not in ("", awaited.type):
            return None
        del self._pending[call_id]
        if awaited is InterceptReply and may_restrict(line):
            return InterceptReply(call_id, problem=reason)
        return BadReply(call_id, reason)

    def _read(self, line: bytes) -> Incoming:
        # A stray print is by far the most common noise, and a flood of it must be cheap.
        if not line.lstrip().startswith(b"{"):
            return Malformed("not an object", _shown(line))
        try:
            message = decode(line)
        except BadMessage as error:
            # As zot reads it: what is not UTF-8, a text that was cut within a character, is U+FFFD.
            if (text := line.decode("utf-8", "replace").encode()) != line:
                return self._read(text)
            deep = "recursion" in str(error)
            reason = "it nests too deep" if deep else f"it is not JSON: {error}"
            return self._unread(line, reason) or Malformed(str(error), _shown(line))
        if not isinstance(message, dict):
            return Malformed("not an object", _shown(line))
        members = cast("dict[str, Any]", message)
        kind = _REPLIES.get(str(members.get("type")))
        if kind is not None:
            return self._reply(kind, members, line)
        try:
            return read_frame(members)
        except BadMessage as error:
            kind = members.get("type")
            return Malformed(f"{kind}: {error}", _shown(line), kind if isinstance(kind, str) else "")

    def _reply(self, kind: ReplyKind, members: dict[str, Any], line: bytes) -> Reply | BadReply | Stray:
        call_id = members.get("id")
        if type(call_id) is int:
            # It is meant, and refused below: a call that waits on would say nothing of why.
            call_id = str(call_id)
        if not isinstance(call_id, str) or self._pending.get(call_id) is not kind:
            return Stray(str(members["type"]), str(call_id)[:80])
        del self._pending[call_id]
        repeated = repeated_member(line, members) if kind is InterceptReply else None
        try:
            if repeated is not None:
                raise BadMessage(f"it has the member {repeated[:80]!r} twice")
            return cast("Reply", read_frame(members))
        except BadMessage as error:
            if kind is InterceptReply and restricts(members, repeated):
                return InterceptReply(call_id, problem=str(error))
            return BadReply(call_id, str(error))


def _first_members(head: bytes) -> dict[str, str]:
    """The texts among the first plain members of an object; one further in may be a member of anything."""
    members: dict[str, str] = {}
    found = _OPEN.match(head)
    while found and (found := _MEMBER.match(head, found.end())):
        members.setdefault(found[1].decode("utf-8", "replace"), (found[2] or b"").decode("utf-8", "replace"))
    return members


def _shown(line: bytes) -> str:
    return line[:200].decode("utf-8", "replace")
