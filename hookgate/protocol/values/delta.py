"""What comes of a model's reply before it is whole."""

from __future__ import annotations

from typing import TypeAlias

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Usage


@dataclass(frozen=True, slots=True)
class CallPiece:
    """Of a tool call while the model writes it: the first piece of an `id` begins it, an `ended` one is its last."""

    id: str
    name: str
    arguments: str = ""
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of what the model thinks: no part of its answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Counted:
    """What the call has used so far, as the endpoint says; what it says later counts instead."""

    usage: Usage


Delta: TypeAlias = str | CallPiece | Thought | Counted
"""What comes of a reply before it is whole: text that may be seen, calls, thoughts, and what it has used."""
