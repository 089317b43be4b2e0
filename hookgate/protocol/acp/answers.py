"""What an agent answers its editor, what it asks it, and what that may answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from hookgate.protocol.acp.updates import Tool, tool_members
from hookgate.protocol.approval import Grant
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json

VERSION = 1
REQUEST_PERMISSION = "session/request_permission"
UPDATE = "session/update"
StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
REJECT = "reject"
NAMES: Mapping[Grant, str] = {
    "once": "Allow once",
    "session": "Allow for this conversation",
    "1h": "Allow for an hour",
    "always": "Always allow",
}


@dataclass(frozen=True, slots=True)
class Mode:
    id: str
    description: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A session that can be loaded; `updated_at` is RFC 3339."""

    id: str
    cwd: str
    title: str
    updated_at: str


def initialized(version: str) -> dict[str, Any]:
    return {
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
        },
        "agentInfo": {"name": "hookgate", "title": "hookgate", "version": version},
        "authMethods": [],
    }


def opened(modes: Sequence[Mode], current: str, session: str = "") -> dict[str, Any]:
    """Of a session that was made, loaded or resumed; one mode alone is no choice."""
    listed = [{"id": it.id, "name": it.id, "description": it.description} for it in modes]
    chosen = {"modes": {"availableModes": listed, "currentModeId": current}} if len(modes) > 1 else {}
    return {**({"sessionId": session} if session else {}), **chosen}


def listed(rows: Iterable[Listed], cursor: str) -> dict[str, Any]:
    sessions = [{"sessionId": it.id, "cwd": it.cwd, "title": it.title, "updatedAt": it.updated_at} for it in rows]
    return {"sessions": sessions, **({"nextCursor": cursor} if cursor else {})}


def permission_params(session: str, tool: Tool, grants: Sequence[Grant]) -> dict[str, Any]:
    """Each grant that is offered, under its own name, and a no."""
    options = [
        {"optionId": it, "name": NAMES[it], "kind": "allow_once" if it == "once" else "allow_always"} for it in grants
    ]
    options.append({"optionId": REJECT, "name": "Reject", "kind": "reject_once"})
    return {"sessionId": session, "toolCall": tool_members(tool), "options": options}


def chosen_option(result: Json) -> str | None:
    """Which option a person has chosen; empty: they have closed the question; None: that is no answer to it."""
    match result:
        case {"outcome": {"outcome": "selected", "optionId": str(option)}}:
            return option
        case {"outcome": {"outcome": "cancelled"}}:
            return ""
        case _:
            return None
