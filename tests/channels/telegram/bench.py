"""A Telegram channel before a fake Bot API, over a journal in a file, with a gateway that only stores."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio

from hookgate.channels.platforms.parts import PlatformParts
from hookgate.channels.telegram.channel import TelegramChannel
from hookgate.channels.telegram.opening import OpenTelegram, open_telegram
from hookgate.channels.telegram.settings import TelegramSettings
from hookgate.protocol.approval import Decision, Outcome, Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Accepted, Arrival, Upstream, Vote
from hookgate.store.journal import open_journal
from hookgate.store.media import FileMedia
from tests.channels.telegram.fake import TOKEN, FakeTelegram, open_fake

DEADLINE_S = 60.0
COMMANDS = (("stop", "end what runs here"), ("help", "this text"), ("reload-ext", "not for a menu"))


@dataclass
class Bench:
    fake: FakeTelegram
    opened: OpenTelegram
    journal: Journal
    media: FileMedia
    received: list[Inbound] = field(default_factory=list)
    offsets: list[str] = field(default_factory=list)

    @property
    def channel(self) -> TelegramChannel:
        return self.opened.channel

    async def heard(self, number: int) -> list[Inbound]:
        """So many messages at least."""
        return await self.fake.until(lambda: len(self.received) >= number and self.received)


@asynccontextmanager
async def opened(
    folder: Path, fake: FakeTelegram, failing: list[Exception] | None = None, **settings: Any
) -> AsyncGenerator[Bench]:
    """`failing`: what the gateway fails with, one message after the other. The same folder again is a restart."""
    given = TelegramSettings("tg", TOKEN, "TG_TOKEN", api_url=fake.url)
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
                bench.offsets.append(upstream.offset)
            fake.stir()
            return accepted

        async def decide(request: str, decision: Decision, voter: Voter) -> Outcome:
            standing = await journal.decisions.standing(request)
            if standing is None:
                return Outcome(False, "unknown", "There is no such request.")
            if voter.id not in {it.id for it in standing.request.voters}:
                return Outcome(False, standing.state, "Only Ann may decide this.")
            standing = await journal.decisions.decide(
                request, Vote(voter.id, decision.approved, by=decision.by, voter=voter)
            )
            assert standing is not None
            return Outcome(standing.counted, standing.state, f"{standing.state}: {standing.counted}")

        async def ready() -> None:
            await trio.lowlevel.checkpoint()

        parts = PlatformParts(ready, lambda _inbound: True, receive, decide, lambda: COMMANDS, journal, media)
        async with open_telegram(replace(given, **settings), parts) as it:
            bench = Bench(fake, it, journal, media)
            yield bench


@asynccontextmanager
async def benched(folder: Path, **settings: Any) -> AsyncGenerator[Bench]:
    with trio.fail_after(DEADLINE_S):
        async with open_fake() as fake, opened(folder, fake, **settings) as bench:
            yield bench


def direct(user: int = 7) -> Chat:
    return Chat("tg", str(user), str(user))


FULL = StoreFailed("the disk is full")
