"""Discord's shards, spread over two gateways on one database: each is had by one, and goes on at the other."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
import trio

from hookgate.channels.discord.channel import DiscordChannel
from hookgate.channels.discord.incoming import shards
from hookgate.channels.discord.opening import open_discord
from hookgate.channels.discord.settings import DiscordSettings
from hookgate.store.journal.opening import StoredJournal
from hookgate.store.media import FileMedia
from hookgate.store.places import Database
from hookgate.store.postgres import open_postgres_journal
from tests.channels.discord.fake import ME, OPS, TOKEN, FakeDiscord, open_fake
from tests.channels.storing import Storing
from tests.postgres import Server

DEADLINE_S = 90.0
MANY = 4


@dataclass
class Running:
    journal: StoredJournal
    channel: DiscordChannel
    gateway: Storing


@asynccontextmanager
async def running(database: Database, fake: FakeDiscord, many: int) -> AsyncGenerator[Running]:
    settings = DiscordSettings("dc", TOKEN, "DC_TOKEN", api_url=f"{fake.url}/api/v10", shards=many)
    async with open_postgres_journal(database, shared=True) as journal:
        gateway = Storing(journal, FileMedia(database.beside.parent / "media"), fake.stir, [])
        async with open_discord(settings, gateway.parts) as channel:
            yield Running(journal, channel, gateway)


async def test_each_shard_is_had_by_one_gateway_and_goes_on_at_the_other(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "IDENTIFY_EVERY_S", 1.0)
    database = Database(server.database(), tmp_path / "journal")
    with trio.fail_after(DEADLINE_S):
        async with open_fake() as fake:
            fake.shards = MANY
            async with running(database, fake, 0) as one:
                async with running(database, fake, MANY) as other:
                    await fake.until(lambda: len(fake.listening) == MANY)
                    assert {it.shard for it in fake.listening} == {(n, MANY) for n in range(MANY)}
                    fake.say(f"<@{ME['id']}> to the server", room=fake.rooms[OPS])
                    fake.say("to the bot alone")
                    await fake.until(lambda: len(one.gateway.received) + len(other.gateway.received) == 2)
                    begun = sorted(at for at, _ in fake.begun)
                    # One after the other, whichever gateway begins it; a connection takes its time.
                    assert all(later - earlier > 0.25 for earlier, later in pairwise(begun)), begun
                fake.say("while it goes over")
                await fake.until(lambda: len(one.gateway.received) + len(other.gateway.received) == 3)
                await fake.until(lambda: len(fake.listening) == MANY)
                while one.channel.state.state != "receiving":
                    await trio.sleep(0.02)
                said = [it.text for gateway in (one, other) for it in gateway.gateway.received]
                assert set(said) == {"to the server", "to the bot alone", "while it goes over"}
                # What was had is gone on with: nothing was begun anew for it.
                assert len({shard for _, shard in fake.begun}) == len(fake.begun) == MANY
            assert fake.wrong == []
