"""A Slack app at two gateways on one database: one of them has its socket; the other goes on where that one ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from hookgate.channels.slack.channel import SlackChannel
from hookgate.channels.slack.opening import open_slack
from hookgate.channels.slack.settings import Secret, SlackSettings
from hookgate.store.media import FileMedia
from hookgate.store.places import Database
from hookgate.store.postgres import open_postgres_journal
from tests.channels.slack.fake import APP_TOKEN, TOKEN, FakeSlack, open_fake
from tests.channels.storing import Storing
from tests.postgres import Server

DEADLINE_S = 90.0


@asynccontextmanager
async def running(database: Database, fake: FakeSlack) -> AsyncGenerator[tuple[Storing, SlackChannel]]:
    secrets = Secret(TOKEN, "SLACK_TOKEN"), Secret(APP_TOKEN, "SLACK_APP_TOKEN")
    async with open_postgres_journal(database, shared=True) as journal:
        gateway = Storing(journal, FileMedia(database.beside.parent / "media"), fake.stir, [])
        settings = SlackSettings("sl", *secrets, api_url=fake.url)
        async with open_slack(settings, gateway.parts) as opened:
            yield gateway, opened.channel


async def becomes(channel: SlackChannel, state: str) -> None:
    while channel.state.state != state:
        await trio.sleep(0.02)


async def test_one_gateway_has_the_socket_and_the_other_goes_on_with_what_was_missed(
    server: Server, tmp_path: Path
) -> None:
    database = Database(server.database(), tmp_path / "journal")
    with trio.fail_after(DEADLINE_S):
        async with open_fake() as fake, running(database, fake) as (stays, channel):
            await becomes(channel, "receiving")
            async with running(database, fake) as (leaves, other):
                while {channel.state.state, other.state.state} != {"receiving", "elsewhere"}:
                    await trio.sleep(0.02)
                fake.say("to whoever has it")
                await fake.until(lambda: len(stays.received) + len(leaves.received) == 1)
            fake.say("after that")
            await fake.until(lambda: len(stays.received) + len(leaves.received) == 2)
            await becomes(channel, "receiving")
            assert [it.text for it in (*leaves.received, *stays.received)] == ["to whoever has it", "after that"]
            assert fake.wrong == []
