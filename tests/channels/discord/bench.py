"""A Discord channel before a fake, over a journal in a file, with a gateway that only stores."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio

from hookgate.channels.discord.channel import DiscordChannel
from hookgate.channels.discord.opening import open_discord
from hookgate.channels.discord.settings import DiscordSettings
from hookgate.channels.platforms.parts import PlatformParts
from hookgate.protocol.approval import Decision, Outcome, Voter
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Accepted, Arrival, Upstream, Vote
from hookgate.store.journal import open_journal
from hookgate.store.media import FileMedia
from tests.channels.discord.fake import ANN, TOKEN, FakeDiscord, open_fake

DEADLINE_S = 60.0
COMMANDS = (("stop", "end what runs here"), ("help", "this text"), ("Reload!", "not for a menu"))


@dataclass
class Bench:
    fake: FakeDiscord
    channel: DiscordChannel
    journal: Journal
    media: FileMedia
    received: list[Inbound] = field(default_factory=list)

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
    given = DiscordSettings("dc", TOKEN, "DISCORD_TOKEN", f"{fake.url}/api/v10")
    async with open_journal(folder / "journal.db") as journal:
        media = FileMedia(folder / "media")

        async def receive(inbound: Inbound, upstream: Upstream) -> Accepted:
            if failing:
                raise failing.pop(0)
            key = f"{inbound.chat.session_key} {inbound.message_id}"
            arrival = Arrival(inbound.sound, "agent", key, upstream.account, offset=upstream.offset)
            accepted = await journal.intake.accept(arrival)
            if not accepted.known:
                bench.received.append(inbound)
            fake.stir()
            return accepted

        async def decide(request: str, decision: Decision, voter: Voter) -> Outcome:
            standing = await journal.decisions.standing(request)
            if standing is None:
                return Outcome(False, "unknown", "There is no such request.")
            if voter.id not in {it.id for it in standing.request.voters}:
                return Outcome(False, standing.state, "Only Ann may decide this.")
            vote = Vote(voter.id, decision.approved, by=decision.by, voter=voter)
            standing = await journal.decisions.decide(request, vote)
            assert standing is not None
            return Outcome(standing.counted, standing.state, f"{standing.state}: {standing.counted}")

        async def ready() -> None:
            await trio.lowlevel.checkpoint()

        parts = PlatformParts(ready, lambda _inbound: True, receive, decide, lambda: COMMANDS, journal, media)
        async with open_discord(replace(given, **settings), parts) as channel:
            bench = Bench(fake, channel, journal, media)
            yield bench


@asynccontextmanager
async def benched(folder: Path, **settings: Any) -> AsyncGenerator[Bench]:
    with trio.fail_after(DEADLINE_S):
        async with open_fake() as fake, opened(folder, fake, **settings) as bench:
            await fake.until(lambda: fake.listening)
            yield bench


def direct(user: dict[str, Any] = ANN) -> Chat:
    return Chat("dc", f"6{user['id'][1:]}", user["id"])
