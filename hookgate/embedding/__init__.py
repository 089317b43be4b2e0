"""hookgate inside another trio program: one conversation as an object, its events as values."""

from __future__ import annotations

from importlib import import_module
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
    ExtPanel,
    ExtPanelClose,
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
    from hookgate.config import ConfigError
    from hookgate.embedding.event_stream import Busy
    from hookgate.embedding.runtime import Events, Runtime
    from hookgate.hooks.children.supervise import RequiredHookFailed
    from hookgate.tools.functions.typed import tool

__all__ = [
    "ApprovalRequest",
    "AssistantMessage",
    "AssistantStart",
    "Block",
    "Busy",
    "CallBlock",
    "CompactDone",
    "ConfigError",
    "Decision",
    "Done",
    "ErrorEvent",
    "Event",
    "Events",
    "ExtClearNotes",
    "ExtDisplay",
    "ExtNotify",
    "ExtPanel",
    "ExtPanelClose",
    "Image",
    "RequiredHookFailed",
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


# Whoever only wants the values should not pay for the loop, the gate and the tools.
_LATER = {
    "Busy": "hookgate.embedding.event_stream",
    "ConfigError": "hookgate.config",
    "Events": "hookgate.embedding.runtime",
    "RequiredHookFailed": "hookgate.hooks.children.supervise",
    "Runtime": "hookgate.embedding.runtime",
    "tool": "hookgate.tools.functions.typed",
}


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
