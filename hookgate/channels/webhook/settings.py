"""What a webhook channel is told, and the gateway as it sees it. Knows no configuration file and no loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.chat.media import MediaStore
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Accepted, Upstream


@dataclass(frozen=True, slots=True)
class Rules:
    """How a body becomes a message: JSON pointers to its text and to its chat. Without the former it is a message of
    our own shape, or a code block."""

    text_from: str = ""
    chat_from: str = ""


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """`origin`: how this gateway is reached, for those who are told; empty: that is not said. `secrets`: of those who
    may send; none: nothing comes in. `url`: where goes what is said, signed with all of `url_secrets`; empty:
    nowhere. `allow_private`: it may be an address that is not public."""

    name: str
    origin: str = ""
    secrets: tuple[bytes, ...] = field(default=(), repr=False)
    url: str = field(default="", repr=False)
    url_secrets: tuple[bytes, ...] = field(default=(), repr=False)
    allow_private: bool = False

    @property
    def path(self) -> str:
        return f"/hooks/{self.name}"

    @property
    def source(self) -> str:
        """Of its events."""
        return f"{self.origin}{self.path}"


@dataclass(frozen=True, slots=True)
class WebhookParts:
    """`ready` returns once there is a gateway. `is_stranger`: whether whoever sends this is not heard. `receive` and
    `turn_away` raise StoreFailed where nothing was stored. `rules` and `events`, which are told, as the configuration
    has them by now."""

    ready: Callable[[], Awaitable[None]]
    is_stranger: Callable[[Inbound], bool]
    receive: Callable[[Inbound, Upstream], Awaitable[Accepted]]
    turn_away: Callable[[Inbound], Awaitable[None]]
    agent: Callable[[Chat], str]
    rules: Callable[[], Rules]
    events: Callable[[], tuple[str, ...]]
    journal: Journal
    media: MediaStore
