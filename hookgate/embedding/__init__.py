"""hookgate inside another trio program: one conversation as an object, its events as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookgate.protocol.approval import ApprovalRequest, Decision
from hookgate.protocol.rpc.blocks import Block, CallBlock, Image, ResultBlock, Text
from hookgate.protocol.rpc.events import (
    AssistantMessage,
    AssistantStart,
    CompactDone,
    Done,
    ErrorEvent,
    Event,
    ExtClearNotes,
    ExtDisplay,
    ExtNotify,
    Spent,
    TextDelta,
    ToolCall,
    ToolProgress,
    ToolResult,
    ToolUseArgs,
    ToolUseEnd,
    ToolUseStart,
    TurnEnd,
    TurnStart,
    UsageEvent,
    UserMessage,
)
from hookgate.protocol.rpc.responses import State, TranscriptMessage

if TYPE_CHECKING:
    from hookgate.embedding.runtime import Events, Runtime
    from hookgate.tools.functions.typed import tool

__all__ = [
    "ApprovalRequest",
    "AssistantMessage",
    "AssistantStart",
    "Block",
    "CallBlock",
    "CompactDone",
    "Decision",
    "Done",
    "ErrorEvent",
    "Event",
    "Events",
    "ExtClearNotes",
    "ExtDisplay",
    "ExtNotify",
    "Image",
    "ResultBlock",
    "Runtime",
    "Spent",
    "State",
    "Text",
    "TextDelta",
    "ToolCall",
    "ToolProgress",
    "ToolResult",
    "ToolUseArgs",
    "ToolUseEnd",
    "ToolUseStart",
    "TranscriptMessage",
    "TurnEnd",
    "TurnStart",
    "UsageEvent",
    "UserMessage",
    "tool",
]


def __getattr__(name: str) -> object:
    # Whoever only wants the values should not pay for the loop, the gate and the tools.
    if name in ("Events", "Runtime"):
        from hookgate.embedding import runtime

        return getattr(runtime, name)
    if name == "tool":
        from hookgate.tools.functions.typed import tool

        return tool
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
