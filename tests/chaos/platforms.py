"""The chat platforms that have a fake, by name."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Protocol

from tests.chaos.discord import open_discord
from tests.chaos.platform import Platform
from tests.chaos.slack import open_slack
from tests.chaos.telegram import open_telegram

CHATS = 6


class Opens(Protocol):
    """`chats`: how many. `name`: of the channel. `limited`: whether the platform keeps everybody to its limits."""

    def __call__(
        self, chance: Random, chats: int = CHATS, *, name: str = "", limited: bool = False
    ) -> AbstractAsyncContextManager[Platform]: ...


PLATFORMS: dict[str, Opens] = {"telegram": open_telegram, "slack": open_slack, "discord": open_discord}
