"""What the gate says of a tool call at before_tool: it may go on, it has its result already, or it must not run."""

from __future__ import annotations

from dataclasses import dataclass

from hookgate.protocol.values import ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call as the hooks left it, for approval and execution."""

    call: ToolCall


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
