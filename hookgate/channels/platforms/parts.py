"""The gateway as a chat platform's channel sees it: a few callables. Knows no loop and no platform."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from hookgate.protocol.approval import Decision, Outcome, Voter
from hookgate.protocol.chat import Inbound
from hookgate.protocol.chat.media import MediaStore
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Accepted, Upstream


@dataclass(frozen=True, slots=True)
class PlatformParts:
    """What the channel needs of the gateway. `ready` returns once there is one. `receive` raises StoreFailed where
    nothing was stored. `hears`: whether a message would come in. `commands`: names and helps of what can be
    invoked."""

    ready: Callable[[], Awaitable[None]]
    hears: Callable[[Inbound], bool]
    receive: Callable[[Inbound, Upstream], Awaitable[Accepted]]
    decide: Callable[[str, Decision, Voter], Awaitable[Outcome]]
    commands: Callable[[], Sequence[tuple[str, str]]]
    journal: Journal
    media: MediaStore
