"""What a Telegram channel is told. Knows no configuration file."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from hookgate.protocol.dataclasses import dataclass

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
