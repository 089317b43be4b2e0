"""A Discord channel before a fake, with a gateway that only stores and delivers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import trio

from hookgate.channels.discord.channel import DiscordChannel
from hookgate.channels.discord.opening import open_discord
from hookgate.channels.discord.settings import DiscordSettings
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.interfaces import Journal
from tests.channels.discord.fake import ANN, TOKEN, FakeDiscord, open_fake
from tests.channels.storing import Storing, delivering, storing

DEADLINE_S = 60.0


@dataclass
class Bench:
    fake: FakeDiscord
    channel: DiscordChannel
    gateway: Storing

    @property
    def journal(self) -> Journal:
        return self.gateway.journal

    @property
    def received(self) -> list[Inbound]:
        return self.gateway.received

    async def heard(self, number: int) -> list[Inbound]:
        """So many messages at least."""
        return await self.fake.until(lambda: len(self.received) >= number and self.received)

    async def becomes(self, state: str) -> str:
        """Why, once it is so."""
        while self.channel.state.state != state:
            await trio.sleep(0.01)
        return self.channel.state.why


@asynccontextmanager
async def opened(
    folder: Path, fake: FakeDiscord, failing: list[Exception] | None = None, **settings: Any
) -> AsyncGenerator[Bench]:
    """`failing`: what the gateway fails with, one message after the other. The same folder again is a restart."""
    given = replace(DiscordSettings("dc", TOKEN, "DISCORD_TOKEN", f"{fake.url}/api/v10"), **settings)
    async with (
        storing(folder, fake.stir, failing) as gateway,
        open_discord(given, gateway.parts) as channel,
        delivering(gateway.journal, channel),
    ):
        yield Bench(fake, channel, gateway)


@asynccontextmanager
async def benched(folder: Path, **settings: Any) -> AsyncGenerator[Bench]:
    with trio.fail_after(DEADLINE_S):
        async with open_fake() as fake, opened(folder, fake, **settings) as bench:
            await fake.until(lambda: fake.listening)
            yield bench


def direct(user: Mapping[str, Any] = ANN) -> Chat:
    return Chat("dc", f"6{user['id'][1:]}", user["id"])
