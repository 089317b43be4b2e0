"""What leaves: texts, files and questions as calls of the Web API, each as the client library declares it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import trio

from hookgate.channels.slack.channel import PREVIEWS
from hookgate.channels.slack.outgoing.mrkdwn import mrkdwn
from hookgate.channels.slack.outgoing.neutral import neutral
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import Undelivered
from tests.channels.slack.bench import Bench, asked, became, benched, direct, noted, opened
from tests.channels.slack.fake import ANN, BOB, DIRECT, GENERAL, Refused, open_fake
from tests.channels.storing import PNG, REQUEST, request

GROUP = Chat("sl", GENERAL, "U0ANN", "group", "1700000000.000001")


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**bold** *it* ~~gone~~ `a<b`", "*bold* _it_ ~gone~ `a&lt;b`"),
        ("in**side**words", "in\u200b*side*\u200bwords"),
        ("# Head *of* it\nbody", "*Head _of_ it*\n\nbody"),
        (
            "[a|b](https://x.example/?q=1&r=2) <https://y.example>",
            "<https://x.example/?q=1&amp;r=2|a¦b> <https://y.example>",
        ),
        ("[here](ftp://x.example/a)", "here (ftp://x.example/a)"),
        ("<!channel> & <@U0BOB>", "&lt;!channel&gt; &amp; &lt;@U0BOB&gt;"),
        ("- one\n- two\n  1. three\n", "• one\n• two\n    1. three"),
        ("before\n\n> quoted\n> more\n\nafter", "before\n\n> quoted\n> more\n\nafter"),
        ("```py\nif a < b:\n    x\n```\nend", "```\nif a &lt; b:\n    x\n```\n\nend"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```"),
        ("---", "———"),
        ("[](x)", "(x)"),
        ("\ud800 half", "\ufffd half"),
    ],
)
def test_markdown_is_written_in_the_platforms_way(markdown: str, shown: str) -> None:
    assert mrkdwn(markdown) == shown


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("<!channel> <@U99> <#C1> a < b", "<\u200b!channel> <\u200b@U99> <\u200b#C1> a < b"),
        (
            "<https://evil.example|bank.com> <https://y.example>",
            "<\u200bhttps://evil.example|bank.com> <https://y.example>",
        ),
        ("```html\n<!DOCTYPE html>\n```\n<!here>", "```html\n<!DOCTYPE html>\n```\n<\u200b!here>"),
        ("```\n<!-- still being written", "```\n<!-- still being written"),
        ("    ```\ntext\n```\n<!here>", "    ```\ntext\n```\n<\u200b!here>"),
        ("```\na\n~~~\n<!here>", "```\na\n~~~\n<\u200b!here>"),
        ("> ```\n> <!here>", "> ```\n> <\u200b!here>"),
        ("\\`<!here>\\` \ud800", "\\`<\u200b!here>\\` \ufffd"),
    ],
)
def test_markdown_that_slack_is_given_as_it_is_has_no_signs_of_its_own(markdown: str, shown: str) -> None:
    assert neutral(markdown) == shown


async def test_a_text_goes_to_its_thread_and_what_gets_too_long_by_its_marks_goes_as_markdown(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.channel(GENERAL)
        receipt = await bench.channel.send(Outbound(GROUP, "**see** <@U0BOB>"), "k1")
        [sent] = fake.sent(GENERAL)
        assert (sent["ts"], sent["text"], sent["thread_ts"]) == (receipt, "*see* &lt;@U0BOB&gt;", GROUP.thread)
        assert fake.called("chat.postMessage")[0]["unfurl_links"] is False
        await bench.channel.edit(Outbound(GROUP, "<" * 3500), receipt)
        [edited] = fake.sent(GENERAL)
        assert edited["blocks"] == [{"type": "markdown", "text": "<" * 3500}]
        await bench.channel.edit(Outbound(GROUP, "short"), receipt)
        assert (fake.sent(GENERAL)[0]["text"], fake.sent(GENERAL)[0]["blocks"]) == ("short", [])
        with pytest.raises(Undelivered) as gone:
            await bench.channel.edit(Outbound(GROUP, "x"), "1600000000.000000")
        assert gone.value.final
        assert fake.wrong == []


@pytest.mark.parametrize(
    ("fault", "final", "after"),
    [
        (Refused("ratelimited", 600), False, 600.0),
        (Refused("channel_not_found"), True, None),
        (Refused("is_archived"), True, None),
        (Refused("not_in_channel"), True, None),
        (Refused("user_not_found"), True, None),
        (Refused("token_revoked"), False, None),
        (Refused("missing_scope"), False, None),
        (Refused("internal_error", status=500), False, None),
    ],
)
async def test_what_the_platform_refuses_says_whether_and_when_to_try_again(
    tmp_path: Path, fault: Refused, final: bool, after: float | None
) -> None:
    async with benched(tmp_path) as bench:
        bench.fake.faults["chat.postMessage"] = [fault]
        with pytest.raises(Undelivered) as failed:
            await bench.channel.send(Outbound(direct(), "hello"), "k")
        assert (failed.value.final, failed.value.retry_after_s) == (final, after)
        assert failed.value.why == f"Slack: {fault.error}"


async def test_a_method_that_asks_for_time_is_not_asked_again_before_it_is_over(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        bench.fake.faults["chat.postMessage"] = [Refused("ratelimited", 30)]
        for n in range(5):
            with pytest.raises(Undelivered) as failed:
                await bench.channel.send(Outbound(direct(), "hello"), f"k{n}")
            assert failed.value.retry_after_s is not None
        assert len(bench.fake.called("chat.postMessage")) == 1
        bench.fake.channel(GENERAL)
        await bench.channel.send(Outbound(GROUP, "hello"), "other")
        assert bench.fake.texts(GENERAL) == ["hello"], "other chats go on"


async def test_files_are_uploaded_and_a_begun_message_is_not_begun_again(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, media = bench.fake, bench.media
        picture, text = str(await media.keep(PNG)), "data:text/plain;base64,aGk="
        several = Outbound(direct(), "see", (picture, text, "media:image/png:" + "0" * 64))
        fake.faults["files.completeUploadExternal"] = [Refused("internal_error")]
        with pytest.raises(Undelivered):
            await bench.channel.send(several, "k")
        await bench.channel.send(several, "k")
        [said, files] = fake.sent()
        assert said["text"] == "see\n[an attached file cannot be sent]"
        assert [fake.files[it] for it in files["files"]] == [PNG, b"hi"]
        assert fake.wrong == []


# --- questions ---


async def test_a_button_decides_for_whoever_may_and_the_outcome_stays_on_the_card(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.channel(GENERAL)
        await asked(bench, request(GROUP))
        [card] = await fake.until(lambda: fake.sent(GENERAL))
        assert card["thread_ts"] == GROUP.thread
        assert card["blocks"][0]["elements"][2]["elements"][0]["text"] == "rm -rf /tmp/x\\u202e"
        fake.press(card, "Allow", BOB, GENERAL)
        [told] = await fake.until(lambda: fake.called("chat.postEphemeral"))
        assert (told["user"], told["text"], told["thread_ts"]) == (
            "U0BOB",
            "Only Ann may decide this.",
            GROUP.thread,
        )
        assert len(fake.sent(GENERAL)[0]["blocks"]) == 2
        fake.press(card, "Allow", ANN, GENERAL)
        assert (await became(bench, "approved")).votes[-1].name == "ann (U0ANN)"
        await fake.until(lambda: len(fake.sent(GENERAL)[0]["blocks"]) == 1)
        assert fake.texts(GENERAL)[0].endswith("✅ Allowed by ann (U0ANN).")
        fake.press_value(card, f"a:{REQUEST}:no", channel=GENERAL)
        fake.press_value(card, "anything", channel=GENERAL)
        await fake.until(lambda: len(fake.called("chat.postEphemeral")) == 3)
        told = [it["text"] for it in fake.called("chat.postEphemeral")]
        assert sorted(told[1:]) == ["There is nothing behind this button any more.", "approved: False"]
        assert fake.wrong == []


async def test_a_press_of_what_is_no_button_of_its_message_and_of_somebody_who_left_changes_nothing(
    tmp_path: Path,
) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.channel(GENERAL)
        await asked(bench, request(GROUP))
        [card] = await fake.until(lambda: fake.sent(GENERAL))
        fake.faults["chat.postEphemeral"] = [Refused("user_not_in_channel")]
        fake.press_value(card, "a:ffffffffffffffff:no", BOB, GENERAL)
        await fake.until(lambda: fake.called("chat.postEphemeral"))
        fake.press(card, "Deny", ANN, GENERAL)
        await became(bench, "refused")
        await fake.until(lambda: len(fake.sent(GENERAL)[0]["blocks"]) == 1)
        assert len(fake.called("chat.update")) == 1


async def test_after_a_restart_the_old_button_works_and_no_second_card_is_shown(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            async with opened(tmp_path, fake) as bench:
                await asked(bench, request(direct()))
                [card] = await fake.until(fake.sent)
                await noted(bench)
            async with opened(tmp_path, fake) as bench:
                fake.press(card, "Deny")
                await became(bench, "refused")
                await fake.until(lambda: len(fake.sent(DIRECT)[0]["blocks"]) == 1)
                assert len(fake.sent()) == 1


async def test_a_long_call_says_what_it_does_not_show(
    tmp_path: Path,
) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        await asked(bench, request(direct(), path="a", content="&" * 50_000))
        [card] = await fake.until(fake.sent)
        shown = str(card["blocks"])
        assert "of 50,000 characters more: /pending 01234567 shows all" in shown
        assert fake.wrong == []


# --- what is being written ---


async def streams_are_possible(bench: Bench) -> None:
    """Once the bot knows its workspace."""
    while bench.channel.state.state != "receiving":
        await trio.sleep(0.01)


async def test_a_thread_shows_an_answer_being_written_as_a_stream_which_its_last_edit_ends(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, channel = bench.fake, bench.channel
        fake.channel(GENERAL)
        await streams_are_possible(bench)
        receipt = await channel.preview(Outbound(GROUP, "**one"), "k", "")
        assert await channel.preview(Outbound(GROUP, "**one** two"), "k", receipt) == receipt
        assert fake.streaming == {(GENERAL, receipt)}
        await channel.edit(Outbound(GROUP, "**one** two"), receipt)
        assert (fake.streaming, fake.texts(GENERAL)) == (set(), ["**one** two"])
        [begun] = fake.called("chat.startStream")
        assert (begun["recipient_user_id"], begun["recipient_team_id"]) == ("U0ANN", "T0001")
        theirs = Outbound(replace(GROUP, sender="T0002.U0EVE"), "for her")
        await channel.edit(theirs, await channel.preview(theirs, "k4", ""))
        begun = fake.called("chat.startStream")[-1]
        assert (begun["recipient_user_id"], begun["recipient_team_id"]) == ("U0EVE", "T0002")
        third = await channel.preview(Outbound(GROUP, "see <"), "k3", "")
        await channel.preview(Outbound(GROUP, "see <!channel"), "k3", third)
        await channel.edit(Outbound(GROUP, "see <!channel> <@U99> <https://evil.example|bank.com>"), third)
        assert fake.texts(GENERAL)[2] == "see <\u200b!channel> <\u200b@U99> <\u200bhttps://evil.example|bank.com>"
        other = await channel.preview(Outbound(GROUP, "not so"), "k2", "")
        await channel.edit(Outbound(GROUP, "**but so**"), other)
        assert (fake.streaming, fake.texts(GENERAL)[3]) == (set(), "*but so*")
        assert fake.wrong == []


async def test_a_stream_that_the_platform_or_a_crash_has_cut_is_edited(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            fake.channel(GENERAL)
            async with opened(tmp_path, fake) as bench:
                await streams_are_possible(bench)
                receipt = await bench.channel.preview(Outbound(GROUP, "one"), "k", "")
                fake.streaming.clear()
                assert await bench.channel.preview(Outbound(GROUP, "one two"), "k", receipt) == receipt
                assert fake.texts(GENERAL) == ["one two"]
                await bench.channel.edit(Outbound(GROUP, "one two three"), receipt)
                assert fake.texts(GENERAL) == ["one two three"]
                left = await bench.channel.preview(Outbound(GROUP, "half"), "k2", "")
            async with opened(tmp_path, fake) as bench:
                await bench.channel.edit(Outbound(GROUP, "whole"), left)
                assert (fake.texts(GENERAL)[1], fake.streaming) == ("whole", set())


async def test_without_streams_and_outside_threads_a_message_is_sent_and_edited(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, channel = bench.fake, bench.channel
        fake.channel(GENERAL)
        await streams_are_possible(bench)
        await channel.preview(Outbound(direct(), "one"), "k", "")
        assert fake.called("chat.startStream") == []
        fake.streams = False
        for key in ("k2", "k3"):
            receipt = await channel.preview(Outbound(GROUP, "one"), key, "")
            await channel.preview(Outbound(GROUP, "one *two*"), key, receipt)
        assert fake.texts(GENERAL) == ["one _two_"] * 2
        assert len(fake.called("chat.startStream")) == 1
        assert fake.wrong == []


async def test_previews_by_edit_leave_room_for_the_last_edit_of_each_chat(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, channel = bench.fake, bench.channel
        fake.rates["chat.update"] = (PREVIEWS + 1, 60)
        receipt = await channel.preview(Outbound(direct(), "0"), "k", "")
        for n in range(1, PREVIEWS + 1):
            await channel.preview(Outbound(direct(), f"{n}"), "k", receipt)
        with pytest.raises(Undelivered) as later:
            await channel.preview(Outbound(direct(), "more"), "k", receipt)
        # The longer this has taken until here, the sooner.
        assert not later.value.final
        assert 1 <= later.value.retry_after_s <= 2
        await channel.edit(Outbound(direct(), "whole"), receipt)
        assert fake.texts() == ["whole"]
        assert len(fake.called("chat.update")) == PREVIEWS + 1
