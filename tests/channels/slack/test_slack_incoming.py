"""Messages on their way in: each stored before it is acknowledged, whatever comes between."""

from __future__ import annotations

from pathlib import Path

import trio

from hookgate.channels.slack.incoming import socket_mode
from hookgate.protocol.chat import Chat, Inbound
from tests.channels.slack.bench import Bench, benched, direct
from tests.channels.slack.fake import BOB, BOT_USER, DIRECT, GENERAL
from tests.channels.storing import FULL


async def state_becomes(bench: Bench, state: str) -> str:
    """Why, once it is so."""
    while bench.channel.state.state != state:
        await trio.sleep(0.01)
    return bench.channel.state.why


async def test_a_message_is_acknowledged_once_it_is_stored_and_the_place_with_it(tmp_path: Path) -> None:
    failing: list[Exception] = [FULL]
    async with benched(tmp_path, failing=failing) as bench:
        message = bench.fake.say("hello &amp; <@U0BOB|bob>")
        await bench.fake.until(lambda: not failing)
        assert bench.fake.acknowledged == []
        await bench.fake.again()
        assert await bench.heard(1) == [Inbound(direct(), "hello & @bob", message_id=message["ts"])]
        await bench.fake.until(lambda: bench.fake.acknowledged)
        assert await bench.journal.intake.offset("sl", BOT_USER) == message["ts"]
        assert await state_becomes(bench, "receiving") == ""
        assert bench.fake.wrong == []


async def test_a_mention_is_two_events_and_one_message_that_begins_a_thread(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        said = fake.say(f"<@{BOT_USER}>: look here", channel=GENERAL)
        await fake.until(lambda: len(fake.acknowledged) == 2)
        thread = Chat("sl", GENERAL, "U0ANN", "group", said["ts"])
        assert bench.received == [Inbound(thread, "look here", message_id=said["ts"], mentioned=True)]
        after = fake.say("and there", user=BOB, channel=GENERAL, thread_ts=said["ts"])
        [_, answered] = await bench.heard(2)
        assert (answered.chat.session_key, answered.message_id) == (thread.session_key, after["ts"])
        assert answered.reply_to_bot, "the bot takes part in the thread"
        fake.say("to others", channel=GENERAL)
        [*_, aside] = await bench.heard(3)
        assert (aside.mentioned, aside.reply_to_bot) == (False, False)


async def test_what_is_not_acknowledged_comes_again_and_is_heard_once(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        await state_becomes(bench, "receiving")
        fake.say("one")
        await bench.heard(1)
        fake.event({**fake.messages[max(fake.messages)], "channel": DIRECT, "channel_type": "im"})
        fake.say("two")
        assert [it.text for it in await bench.heard(2)] == ["one", "two"]


async def test_the_next_socket_is_there_before_the_one_that_is_to_be_closed_is_left(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        await fake.until(lambda: fake.lines)
        old = fake.lines[0]
        await fake.disconnect("warning")
        await fake.until(lambda: len(fake.lines) == 2)
        assert not old.over.is_set()
        fake.say("hello")
        await bench.heard(1)
        with trio.fail_after(socket_mode.LEAVE_S + 5):
            await old.over.wait()
        assert bench.channel.state.state == "receiving"
        assert fake.opened == 2
