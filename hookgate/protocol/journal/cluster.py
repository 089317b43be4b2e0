"""Gateways that share a journal, as values and an interface: who they are, and what they tell each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Protocol

from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """A gateway. `name`: for people, HOST:PID; `version`: hookgate's; `since`: seconds of the wall clock;
    `draining`: it begins nothing any more."""

    id: str
    name: str
    version: str
    since: float
    draining: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """What one gateway tells others: a hint, which may be lost; the truth is in the journal. `kind` says who of them
    wants it, `session` what it is about."""

    kind: str
    session: str = ""
    body: Mapping[str, str] = field(default_factory=dict[str, str])


class Cluster(Protocol):
    @property
    def me(self) -> str:
        """The id of this gateway, under which it claims."""
        ...

    @property
    def members(self) -> tuple[Member, ...]:
        """Those that live, this one among them, as it has last seen them; the oldest first."""
        ...

    def tell(self, note: Note, to: str = "") -> None:
        """Soon, and to all others where none is named. Nobody waits for it."""
        ...

    def hear(self, kind: str, function: Callable[[Note], None]) -> None:
        """Called with each note of this kind, whoever has told it. It neither waits nor raises."""
        ...

    async def owner(self, session: str) -> str:
        """The id of the gateway where this conversation is; empty: nowhere now. Raises StoreFailed."""
        ...

    async def drain(self) -> None:
        """Conversations that rest go elsewhere from now on. Raises StoreFailed."""
        ...


WORK, ROWS, CHANGED, DECIDED = "work", "rows", "changed", "decided"
"""Kinds of notes: something was accepted in a session; there is something to bring to its chat, which is the body;
there may be something that nobody has told of; people have decided about the `request`."""
