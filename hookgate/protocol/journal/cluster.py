"""Gateways that share a journal, as values and an interface: who they are, and what they tell each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
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

    def describe(self, text: str) -> None:
        """What others are to know of this one: soon in place of what it has said of itself before. Nobody waits for
        it."""
        ...

    async def described(self) -> Mapping[str, str]:
        """By its id what each of the members says of itself, as it has put it; empty where nobody shares the journal.
        Raises StoreFailed."""
        ...

    async def owner(self, session: str) -> str:
        """The id of the gateway where this conversation is; empty: nowhere now. Raises StoreFailed."""
        ...

    async def drain(self) -> None:
        """Conversations that rest go elsewhere from now on. Raises StoreFailed."""
        ...

    def altered(self, name: str) -> None:
        """Others read again what is called so, as soon as they hear of it."""
        ...

    def follow(self, name: str, load: Callable[[], Awaitable[object]]) -> None:
        """`load` is called whenever another gateway has altered that, and now and then, since a note may be lost. It
        may raise StoreFailed."""
        ...

    # --- what only one of them may have: a lease, which ends with its holder ---

    def place_of(self, name: str) -> str:
        """The id of the gateway that it belongs to, among those that live and do not drain."""
        ...

    async def holder(self, name: str) -> str:
        """The id of the gateway that has this lease; empty: none. Raises StoreFailed."""
        ...

    async def take(self, name: str) -> bool:
        """Whether this one has it now: nobody else did. Raises StoreFailed."""
        ...

    async def give(self, name: str) -> None:
        """It is anybody's, if it was this one's. Raises StoreFailed."""
        ...

    def present(self) -> AbstractContextManager[object]:
        """What runs inside is cancelled before others may take this gateway for gone, and so what it has."""
        ...


def drains(cluster: Cluster) -> bool:
    """Whether this gateway begins nothing any more."""
    return any(it.draining for it in cluster.members if it.id == cluster.me)


def name_of(cluster: Cluster, id_: str) -> str:
    """A gateway's name for people; of one that is gone its id."""
    return next((it.name for it in cluster.members if it.id == id_), id_)


ALTERED = "altered"
"""A kind of note: `session` names what is to be read again."""
WORK, ROWS, CHANGED, DECIDED, UNSEEN = "work", "rows", "changed", "decided", "unseen"
LEASE, RELOAD, EVENT = "lease", "reload", "event"
"""Kinds of notes: something was accepted in a session; there is something to bring to its chat, which is the body;
there may be something that nobody has told of; people have decided about the `request`; one of its cards will never
arrive; the lease that `session` names is free, or, told its holder, wanted by the gateway where it belongs; it is
this gateway's turn to reload; an event for the hook that `session` names."""
ASKED, SAID, WATCH, LIVE = "asked", "said", "watch", "live"
"""And: something is asked of what a gateway has in memory; that is the answer; somebody listens to a chat; that is
what happens there."""
