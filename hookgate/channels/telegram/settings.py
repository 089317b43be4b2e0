"""What a Telegram channel is told and given: its own settings, and the gateway as a few callables. Knows no
configuration file and no loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hookgate.protocol.approval import Decision, Outcome, Voter
from hookgate.protocol.chat import Inbound
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Accepted, Upstream
from hookgate.protocol.media import MediaStore

API_URL = "https://api.telegram.org"


@dataclass(frozen=True, slots=True)
class TelegramSettings:
    """`token_name`: of the variable that `token` is from. `origin`: where the platform reaches this gateway, for
    `webhook`. `api_url`: of the Bot API. `hears_all`: in groups, what is said to others too."""

    name: str
    token: str = field(repr=False)
    token_name: str
    mode: Literal["poll", "webhook"] = "poll"
    origin: str = ""
    api_url: str = API_URL
    hears_all: bool = False

    @property
    def path(self) -> str:
        """Below `origin`."""
        return f"/channels/{self.name}"


@dataclass(frozen=True, slots=True)
class TelegramParts:
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
