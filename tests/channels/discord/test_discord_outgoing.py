"""What a chat is sent, as Discord takes it: in its lengths and paces, once, calling nobody."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import trio

from hookgate.channels.discord.limits import GLOBAL_MOST, REFUSED_MOST, RateLimits
from hookgate.channels.discord.outgoing.formatting import formatted
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import Undelivered
from tests.channels.discord.bench import Bench, benched, direct, opened
from tests.channels.discord.fake import ANN, BOB, OPS, Refused, open_fake, too_many
from tests.channels.storing import PNG, REQUEST, asked, became, noted, request

POST, PATCH = "POST /channels/{channel_id}/messages", "PATCH /channels/{channel_id}/messages/{message_id}"
GROUP = Chat("dc", OPS, ANN["id"], "group")


def answer(text: str, chat: Chat | None = None, **more: object) -> Outbound:
    return Outbound(chat or direct(), text, **more)  # pyright: ignore[reportArgumentType]


async def test_a_message_is_sent_once_calls_nobody_and_is_shown_as_the_reply(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        question = fake.say("what?", room=fake.rooms[OPS])
        told = answer("@everyone **no** <@7>", GROUP, in_reply_to=question["id"])
        receipt = await bench.channel.send(told, "R1")
        assert await bench.channel.send(told, "R1") == receipt
        [sent] = fake.sent(OPS)
        assert sent["referenced_message"]["id"] == question["id"]
        [first, _again] = fake.called(POST)
        assert first.body["allowed_mentions"] == {"parse": []}
        assert len(first.body["nonce"]) <= 25
        assert first.body["enforce_nonce"] is True
        # What has its key already, and says something else, is what a crash has left of a preview.
        assert await bench.channel.send(answer("**whole**", GROUP), "R1") == receipt
        assert fake.texts(OPS) == ["**whole**"]
        with pytest.raises(Undelivered, match="has not said which") as failed:
            await bench.channel.edit(answer("x"), "")
        assert failed.value.final
        await bench.channel.send(answer("gone", GROUP, in_reply_to="i5"), "R2")
        await bench.channel.send(answer("gone", GROUP, in_reply_to="5"), "R3")
        assert fake.wrong == []


async def test_files_are_attached_together_and_what_cannot_be_is_a_line(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        room = fake.direct(ANN)["id"]
        reference = str(await bench.gateway.media.keep(PNG))
        media = (*[reference] * 12, "https://example.org/a.png", "media:image/png:sha256-none")
        receipt = await bench.channel.send(answer("see", media=media), "R1")
        assert len(receipt.split()) == 2
        assert [len(it["attachments"]) for it in fake.sent(room)] == [10, 2]
        assert fake.texts(room) == ["see\nhttps://example.org/a.png\n[an attached file cannot be sent]", ""]
        assert fake.called(POST)[0].files["files[9]"] == PNG
        assert fake.wrong == []


async def test_a_chat_that_is_gone_or_forbidden_is_final_and_a_limit_is_waited_for(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, channel = bench.fake, bench.channel
        for code, why in ((10003, "Unknown Channel"), (50001, "Missing Access"), (50013, "Missing Permissions")):
            fake.gone[OPS] = code
            with pytest.raises(Undelivered, match=why) as failed:
                await channel.send(answer("x", GROUP), f"R{code}")
            assert failed.value.final
        fake.gone.clear()
        # Five in five seconds, and nothing is refused.
        began = trio.current_time()
        for number in range(6):
            await channel.send(answer(f"{number}", GROUP), f"S{number}")
        assert trio.current_time() - began > 1
        fake.faults[POST] = [too_many(30.5), Refused(502, "Bad Gateway")]
        room = {**fake.rooms[OPS], "id": "42"}
        fake.room(room)
        elsewhere = Chat("dc", "42", ANN["id"], "group")
        with pytest.raises(Undelivered, match="asked for time") as failed:
            await channel.send(answer("x", elsewhere), "T")
        assert (failed.value.retry_after_s, failed.value.final) == (30.5, False)
        asked_for = len(fake.called(POST))
        with pytest.raises(Undelivered, match="asked for time"):
            await channel.send(answer("x", elsewhere), "T")
        assert len(fake.called(POST)) == asked_for, "it is not asked before its time"
        fake.faults[POST] = [Refused(502, "Bad Gateway"), too_many(20, everywhere=True)]
        with pytest.raises(Undelivered, match="Bad Gateway") as failed:
            await channel.send(answer("x"), "U")
        assert not failed.value.final
        with pytest.raises(Undelivered, match="asked for time"):
            await channel.send(answer("x"), "U")
        with pytest.raises(Undelivered, match="asked for time"):
            await channel.edit(answer("x", GROUP), fake.sent(OPS)[0]["id"])
        assert fake.wrong == []


def test_buckets_are_shared_all_requests_are_counted_and_refusals_are_not_begged_for() -> None:
    now = 100.0
    limits = RateLimits(lambda: now)
    head = {"x-ratelimit-bucket": "b", "x-ratelimit-limit": "2", "x-ratelimit-remaining": "0"}
    limits.take("A", "1")
    limits.learn("A", "1", 200, {**head, "x-ratelimit-reset-after": "3.5"})
    assert (limits.wait_s("A", "1"), limits.wait_s("A", "2")) == (3.5, 0)
    limits.learn("B", "2", 200, {**head, "x-ratelimit-remaining": "1", "x-ratelimit-reset-after": "1"})
    limits.learn("B", "1", 200, {"x-ratelimit-bucket": "b", "x-ratelimit-limit": "nan"})
    assert limits.wait_s("B", "1") == 3.5
    now = 103.5
    assert limits.wait_s("A", "1") == 0
    limits.take("A", "1")
    limits.take("A", "1")
    # Neither has been answered; the bucket is not taken to be empty for ever.
    assert 0 < limits.wait_s("A", "1") <= 5
    now = 200.0
    for number in range(GLOBAL_MOST):
        limits.take("C", str(number))
    assert limits.wait_s("D", "") == 1.0
    now = 300.0
    for _ in range(REFUSED_MOST):
        limits.learn("E", "", 403, {})
    limits.learn("E", "", 429, {"x-ratelimit-scope": "shared"})
    assert limits.wait_s("F", "") == 600.0
    now = 901.0
    assert limits.wait_s("F", "") == 0
    limits.back_off("G", "", 10.0, everywhere=True)
    assert limits.wait_s("A", "1") == 10.0


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("# One\n\n#### Four *f*\n\nTwo\n===", "# One\n\n**Four *f***\n\n# Two"),
        ("a || b `||` **c** __d__", "a \\|\\| b `||` **c** **d**"),
        (
            "| a | b |\n|---|---|\n| 1 | `2` |\n\nafter",
            "```\n| a | b |\n|---|---|\n| 1 | `\u200b2`\u200b |\n```\n\nafter",
        ),
        ("```py\n__x__ || ![a](b)\n```", "```py\n__x__ || ![a](b)\n```"),
        ("![pic](https://e.org/a.png)\n\n***\n\nend", "[pic](https://e.org/a.png)\n\n———\n\nend"),
        ("    indented\n\ntext", "```\nindented\n```\n\ntext"),
        ("", ""),
    ],
)
def test_what_discord_does_not_know_of_markdown_it_is_not_sent(written: str, shown: str) -> None:
    assert formatted(written, 2000) == shown


def test_what_formatting_makes_too_long_is_sent_as_it_was_written() -> None:
    assert formatted("|| " * 600, 2000) == ("|| " * 600).strip()


# --- cards ---


async def card(bench: Bench, room: str) -> dict[str, object]:
    [shown] = await bench.fake.until(lambda: [it for it in bench.fake.sent(room) if it["components"]])
    return shown


async def test_a_card_is_pressed_acknowledged_at_once_and_says_what_became_of_it(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        room = fake.direct(ANN)["id"]
        long = "rm -rf `/tmp` " * 400
        await asked(bench.journal, request(direct(), command=long, why="```\nx||\u202e"), (ANN["id"],))
        shown = dict(await card(bench, room))
        assert "characters more: /pending" in str(shown["content"])
        assert "\u202e" not in str(shown["content"])
        # Whoever may not decide holds nothing up, and is told so alone.
        not_his = fake.press(shown, "Allow", BOB)
        await fake.until(lambda: not_his["whispers"])
        assert not_his["answer"] == {"type": 6}
        assert not_his["whispers"][0]["content"] == "Only Ann may decide this."
        assert not_his["whispers"][0]["flags"] == 64
        hers = fake.press(shown, "Allow")
        await became(bench.journal, "approved")
        await fake.until(lambda: not fake.sent(room)[0]["components"])
        assert hers["answer"] == {"type": 6}
        assert hers["whispers"] == []
        assert fake.texts(room)[0].endswith(f"**✅ Allowed by Ann ({ANN['id']}).**")
        again = fake.press(shown, "Deny")
        await fake.until(lambda: again["whispers"])
        assert fake.wrong == []


async def test_a_button_works_after_a_restart_and_no_second_card_is_shown(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            fake.held[POST] = trio.Event()
            async with opened(tmp_path, fake) as bench:
                await fake.until(lambda: fake.listening)
                await asked(bench.journal, request(GROUP), (ANN["id"],))
                shown = dict(await card(bench, OPS))
            # It died before it was told which message that is; the platform knows what it was sent.
            fake.held.pop(POST).set()
            pressed = fake.press(shown, "Deny", {**ANN, "global_name": "A\u202enn\u200b"})
            async with opened(tmp_path, fake) as bench:
                await became(bench.journal, "refused")
                await noted(bench.journal, "dc")
                await fake.until(lambda: not fake.sent(OPS)[0]["components"])
                await fake.until(partial(pressed.get, "answer"))
                assert fake.texts(OPS)[0].endswith(f"**❌ Refused by Ann ({ANN['id']}).**")
                assert len(fake.sent(OPS)) == 1
            assert fake.wrong == []


async def test_slash_commands_are_told_once_answered_at_once_and_come_in_as_they_are_typed(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            for _ in range(2):
                async with opened(tmp_path, fake) as bench:
                    await fake.until(lambda: fake.listening and fake.commands)
                    act = fake.command("approve", REQUEST[:8], room=OPS)
                    [heard] = await bench.heard(1)
                    assert heard.text == f"/approve {REQUEST[:8]}"
                    assert heard.chat == GROUP
                    await fake.until(partial(act.get, "answer"))
                    assert act["answer"]["data"]["content"] == heard.text.join("``")
            assert [it["name"] for it in fake.commands] == ["stop", "help", "reload-ext"]
            assert len(fake.called("PUT /applications/{application_id}/commands")) == 1
            assert fake.wrong == []


async def test_a_strangers_command_is_shown_to_them_alone(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        bench.gateway.strangers.add(BOB["id"])
        for user, flags in ((BOB, 64), (ANN, None)):
            act = bench.fake.command("approve", "@everyone come", user, room=OPS)
            await bench.fake.until(partial(act.get, "answer"))
            assert act["answer"]["data"].get("flags") == flags
        assert bench.fake.wrong == []


async def test_a_press_of_somebody_who_has_left_since_holds_up_nobody_elses(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        await asked(bench.journal, request(GROUP), (ANN["id"],))
        shown = dict(await card(bench, OPS))
        fake.faults["POST /webhooks/{webhook_id}/{webhook_token}"] = [Refused(404, "Unknown Webhook", 10015)]
        left = fake.press(shown, "Allow", BOB)
        await fake.until(lambda: fake.called("POST /webhooks/{webhook_id}/{webhook_token}"))
        [session] = fake.listening
        nobody = {"id": "77", "application_id": "5", "type": 3, "token": "t", "channel_id": OPS, "guild_id": "1"}
        fake.send(session, "INTERACTION_CREATE", {**nobody, "member": None, "message": shown, "data": {}})
        fake.press(shown, "Deny")
        await became(bench.journal, "refused")
        assert left["whispers"] == []
