"""What a person is asked before a sensitive tool runs, and what they may answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hookgate.protocol.values import Chat, ToolCall

Grant = Literal["once", "session"]


@dataclass(frozen=True, slots=True)
class Wish:
    """Somebody wants a person asked. `asked_by` is `rule:NAME` or `hook:NAME`; `ttl_s` None: the usual time.

    `once`: a yes is for this very call and no other.
    """

    asked_by: str
    title: str = ""
    text: str = ""
    approvers: tuple[str, ...] = ()
    ttl_s: float | None = None
    once: bool = False


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """`asked_by` and `once` as in Wish; `digest` binds the request to this very call."""

    id: str
    chat: Chat
    call: ToolCall
    asked_by: str
    title: str
    text: str
    approvers: tuple[str, ...]
    ttl_s: float
    digest: str
    once: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """A refusal has no grant; `by` is who decided, for the record."""

    approved: bool
    by: str
    reason: str = ""
    grant: Grant = "once"
