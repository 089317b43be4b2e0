"""A Slack channel before a fake workspace, with a gateway that only stores and delivers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import trio

from hookgate.channels.slack.channel import SlackChannel
from hookgate.channels.slack.opening import OpenSlack, open_slack
from hookgate.channels.slack.settings import Secret, SlackSettings
from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.decisions import Standing
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Claim
from hookgate.store.media import FileMedia
from tests.channels import storing
from tests.channels.slack.fake import APP_TOKEN, DIRECT, SIGNING_SECRET, TOKEN, FakeSlack, open_fake
from tests.channels.storing import Storing

DEADLINE_S = 60.0


@dataclass
class Bench:
    fake: FakeSlack
    opened: OpenSlack
    gateway: Storing

    @property
    def channel(self) -> SlackChannel:
        return self.opened.channel

    @property
    def journal(self) -> Journal:
        return self.gateway.journal

    @property
    def media(self) -> FileMedia:
        return self.gateway.media

    @property
    def received(self) -> list[Inbound]:
        return self.gateway.received

    @property
    def offsets(self) -> list[str]:
        return self.gateway.offsets

    async def heard(self, number: int) -> list[Inbound]:
        """So many messages at least."""
        return await self.fake.until(lambda: len(self.received) >= number and self.received)


@asynccontextmanager
async def opened(
    folder: Path, fake: FakeSlack, failing: list[Exception] | None = None, **settings: Any
) -> AsyncGenerator[Bench]:
    """`failing`: what the gateway fails with, one message after the other. The same folder again is a restart."""
    by_webhook = settings.get("mode") == "webhook"
    other = Secret(SIGNING_SECRET, "SLACK_SECRET") if by_webhook else Secret(APP_TOKEN, "SLACK_APP_TOKEN")
    given = SlackSettings("sl", Secret(TOKEN, "SLACK_TOKEN"), other, api_url=fake.url)
    async with (
        storing.storing(folder, fake.stir, failing) as gateway,
        open_slack(replace(given, **settings), gateway.parts) as it,
        storing.delivering(gateway.journal, it.channel),
    ):
        yield Bench(fake, it, gateway)


@asynccontextmanager
async def benched(folder: Path, **settings: Any) -> AsyncGenerator[Bench]:
    with trio.fail_after(DEADLINE_S):
        async with open_fake() as fake, opened(folder, fake, **settings) as bench:
            yield bench


def direct(thread: str = "") -> Chat:
    return Chat("sl", DIRECT, "U0ANN", thread=thread)


async def asked(bench: Bench, shown: ApprovalRequest, required: int = 1, elsewhere: Chat | None = None) -> Claim:
    return await storing.asked(bench.journal, shown, ("U0ANN", "U0CLEO"), required, elsewhere)


async def became(bench: Bench, state: str) -> Standing:
    return await storing.became(bench.journal, state)


async def noted(bench: Bench) -> None:
    await storing.noted(bench.journal, "sl")
