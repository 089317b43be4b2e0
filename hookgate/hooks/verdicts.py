"""What the gate says where a value does not simply go on: of a tool call that it has its result already or must not
run, of a message that it is answered already or goes no further.
"""

from __future__ import annotations

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Answered:
    """A hook gave the result itself. `judged` is the call it was asked about, `call` what its answer says was called;
    `unapproved`: the answer counts although an approval rule matches the tool."""

    judged: ToolCall
    call: ToolCall
    result: ToolResult
    hook: str
    unapproved: bool


@dataclass(frozen=True, slots=True)
class Denied:
    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Replied:
    """A hook answers the message itself, and no model is asked."""

    hook: str
    text: str
    media: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """The message goes no further. `tell`: the line that the chat reads of it; empty: the hook wants none."""

    hook: str
    reason: str
    tell: str
