"""What a Slack channel is told. Knows no configuration file."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from hookgate.protocol.dataclasses import dataclass

API_URL = "https://slack.com"


@dataclass(frozen=True, slots=True)
class Secret:
    """`name`: of the variable that it is from."""

    value: str = field(repr=False)
    name: str


@dataclass(frozen=True, slots=True)
class SlackSettings:
    """`token`: of the bot (`xoxb-`). `other`: of the app (`xapp-`) for `socket`, its signing secret for `webhook`.
    `api_url`: without `/api`. `hears_bots`: other bots, where they are let in and mention this one."""

    name: str
    token: Secret
    other: Secret
    mode: Literal["socket", "webhook"] = "socket"
    api_url: str = API_URL
    hears_bots: bool = False

    @property
    def path(self) -> str:
        """Where the platform brings events, below the gateway's origin."""
        return f"/channels/{self.name}"
