"""What the page is sent, member by member. Knows neither where it comes from nor how it is shown."""

from __future__ import annotations

from typing import Literal

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import JsonObject

Role = Literal["user", "assistant", "output", "notice", "error"]
ToolState = Literal["running", "done", "failed", "denied"]


@dataclass(frozen=True, slots=True)
class ShownMedia:
    """`type` is empty, and `name` the address, of what lies elsewhere."""

    id: str
    type: str
    url: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class ShownTool:
    id: str
    name: str
    state: ToolState
    summary: str
    media: tuple[ShownMedia, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownTrace:
    hook: str
    stage: str
    action: str
    reason: str
    ms: float
    tool: str = ""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """`answers`: the id of the user's message. `html` is empty for all but answers. `replaces`: it has just been
    taken up in place of an earlier one, and what stood from there on is gone."""

    id: str
    role: Role
    text: str
    html: str
    at: str
    media: tuple[ShownMedia, ...] = ()
    tools: tuple[ShownTool, ...] = ()
    trace: tuple[ShownTrace, ...] = ()
    answers: str = ""
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class ShownRunning:
    """An answer that is being written: HTML of the blocks that have closed, and of the open one."""

    message: str
    text: str
    closed: str
    html: str
    tools: tuple[ShownTool, ...]
    trace: tuple[ShownTrace, ...]


@dataclass(frozen=True, slots=True)
class Queued:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Card:
    """A call that waits for people, whole. `of`: how many have said yes, how many must."""

    id: str
    chat: str
    title: str
    text: str
    tool: str
    arguments: JsonObject
    diff: str
    asked_by: str
    sender: str
    of: tuple[int, int]
    grants: tuple[str, ...]
    always: str
    expires_at: str | None
    may: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    cursor: str
    messages: tuple[ShownMessage, ...]
    running: ShownRunning | None
    approvals: tuple[Card, ...]
    queued: tuple[Queued, ...]


@dataclass(frozen=True, slots=True)
class ListedChat:
    id: str
    title: str
    updated_at: str
    running: bool
    waiting: int
