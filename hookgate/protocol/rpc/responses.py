"""What RPC answers to a command: a frame, and the shapes of the data in it."""

from __future__ import annotations

from typing import Any

from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.rpc.blocks import Block, block_members
from hookgate.protocol.rpc.commands import Request
from hookgate.protocol.rpc.events import Spent, spent_members
from hookgate.protocol.values import Role
from hookgate.protocol.values.models import Model

PROTOCOL_VERSION = 1


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """`time` is RFC 3339."""

    role: Role
    content: tuple[Block, ...]
    time: str


@dataclass(frozen=True, slots=True)
class State:
    """`model` is the bare name; `reasoning` is empty while it is off."""

    provider: str
    model: str
    cwd: str
    message_count: int
    busy: bool
    usage: Spent
    reasoning: str = ""


def succeeded(request: Request, data: dict[str, Any] | None = None) -> bytes:
    return _line(request, {"success": True} if data is None else {"success": True, "data": data})


def failed(request: Request, error: str) -> bytes:
    return _line(request, {"success": False, "error": error})


def _line(request: Request, outcome: dict[str, Any]) -> bytes:
    named = {} if request.id is None else {"id": request.id}
    return encode({"type": "response", **named, "command": request.name, **outcome}) + b"\n"


def state_members(state: State) -> dict[str, Any]:
    members = {
        "provider": state.provider,
        "model": state.model,
        "cwd": state.cwd,
        "message_count": state.message_count,
        "busy": state.busy,
        "usage": spent_members(state.usage),
    }
    return {**members, "reasoning": state.reasoning}


def revealed_members(request: ApprovalRequest) -> dict[str, Any]:
    """What an approval request says, with nothing hidden."""
    true = request.unredacted or request
    said = {"tool": true.call.name, "args": true.call.arguments, "title": true.title, "text": true.text}
    return {**said, "always": true.always} if true.always else said


def message_members(message: TranscriptMessage) -> dict[str, Any]:
    content = [block_members(block) for block in message.content]
    return {"role": message.role, "content": content, "time": message.time}


def model_members(model: Model) -> dict[str, Any]:
    return {
        "id": model.id,
        "provider": model.provider,
        "context_window": model.context_window,
        "max_output": model.max_output,
        "reasoning": bool(model.reasoning),
    }
