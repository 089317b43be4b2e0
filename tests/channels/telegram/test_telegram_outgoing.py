"""What leaves: texts, files and questions as calls of the Bot API, each as its published description has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import Undelivered
from tests.channels.storing import PNG
from tests.channels.telegram.bench import benched, direct
from tests.channels.telegram.fake import ANN, Refused


async def test_markdown_goes_as_entities_and_once_as_it_was_where_the_platform_does_not_take_them(
    tmp_path: Path,
) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.private(ANN)
        receipt = await bench.channel.send(Outbound(direct(), "**bold** \ud800"), "k1")
        sent = fake.sent(7)[0]
        assert (str(sent["message_id"]), sent["text"]) == (receipt, "bold \ufffd")
        assert sent["entities"] == [{"type": "bold", "offset": 0, "length": 4}]
        assert fake.called("sendMessage")[0]["link_preview_options"] == {"is_disabled": True}
        assert "parse_mode" not in fake.called("sendMessage")[0]
        fake.faults["sendMessage"] = [Refused(400, "Bad Request: can't parse entities: who knows")]
        await bench.channel.send(Outbound(direct(), "**again**"), "k2")
        assert fake.texts(7)[-1] == "**again**"
        assert fake.wrong == []


async def test_in_a_group_an_answer_quotes_its_question_once(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, channel, group = bench.fake, bench.channel, Chat("tg", "-1005", "7", "group")
        fake.private(ANN)
        fake.group(-1005)
        picture = str(await bench.media.keep(PNG))
        await channel.send(Outbound(group, "answer", in_reply_to="77"), "k1")
        await channel.send(Outbound(group, "captioned", (picture,), in_reply_to="77"), "k2")
        await channel.send(Outbound(group, "x" * 2000, (picture, picture), in_reply_to="77"), "k3")
        await channel.send(Outbound(group, "a notice", kind="notice", in_reply_to="77"), "k4")
        await channel.send(Outbound(direct(), "to one person", in_reply_to="77"), "k5")
        quoted = [it.params.get("reply_parameters") for it in fake.calls if it.method.startswith("send")]
        quotes = {"message_id": 77, "allow_sending_without_reply": True}
        assert quoted == [quotes, quotes, quotes, None, None, None]
        assert fake.wrong == []


async def test_an_edit_puts_another_text_there_and_the_same_once_more_is_no_failure(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, channel = bench.fake, bench.channel
        fake.private(ANN)
        receipt = await channel.send(Outbound(direct(), "so f"), "k")
        for _ in range(2):
            await channel.edit(Outbound(direct(), "so *far*"), receipt)
        assert fake.texts(7) == ["so far"]
        with pytest.raises(Undelivered) as gone:
            await channel.edit(Outbound(direct(), "x"), "999")
        assert gone.value.final


@pytest.mark.parametrize(
    ("fault", "final", "after"),
    [
        (Refused(429, "Too Many Requests: retry after 600", retry_after=600), False, 600.0),
        (Refused(403, "Forbidden: bot was blocked by the user"), True, None),
        (Refused(400, "Bad Request: chat not found"), True, None),
        (Refused(502, "Bad Gateway"), False, None),
    ],
)
async def test_what_the_platform_refuses_says_whether_and_when_to_try_again(
    tmp_path: Path, fault: Refused, final: bool, after: float | None
) -> None:
    async with benched(tmp_path) as bench:
        bench.fake.private(ANN)
        bench.fake.faults["sendMessage"] = [fault]
        with pytest.raises(Undelivered) as failed:
            await bench.channel.send(Outbound(direct(), "hello"), "k")
        assert (failed.value.final, failed.value.retry_after_s) == (final, after)
        assert failed.value.why == f"Telegram: {fault.why}"


async def test_a_topic_that_is_gone_and_a_group_that_has_moved_lose_no_message(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.group(-1005)
        fake.topics[-1005] = {4}
        await bench.channel.send(Outbound(Chat("tg", "-1005", "7", "group", "4"), "in the topic"), "k1")
        await bench.channel.send(Outbound(Chat("tg", "-1005", "7", "group", "5"), "lost?"), "k2")
        assert fake.texts(-1005) == ["in the topic", "lost?\n\n(The topic that this belongs to is gone.)"]
        fake.group(-1006)
        fake.moved[-1005] = -1006
        await bench.channel.send(Outbound(Chat("tg", "-1005", "7", "group"), "moved"), "k3")
        await bench.channel.send(Outbound(Chat("tg", "-1005", "7", "group"), "known"), "k4")
        assert fake.texts(-1006) == ["moved", "known"]
        assert [it["chat_id"] for it in fake.called("sendMessage")][-3:] == [-1005, -1006, -1006]


async def test_files_go_as_what_they_are_and_begun_messages_are_not_begun_again(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, media = bench.fake, bench.media
        fake.private(ANN)
        picture, pdf = str(await media.keep(PNG)), str(await media.keep(b"%PDF-1.4 x"))
        voice = str(await media.keep(b"OggS\x00\x02" + bytes(22) + b"\x01\x13OpusHead" + bytes(40)))
        await bench.channel.send(Outbound(direct(), "*see*", (picture,)), "k1")
        await bench.channel.send(Outbound(direct(), "two", (picture, picture)), "k2")
        fake.faults["sendDocument"] = [Refused(500, "Internal Server Error")]
        several = Outbound(direct(), "three", (voice, pdf, "media:image/png:" + "0" * 64))
        with pytest.raises(Undelivered):
            await bench.channel.send(several, "k3")
        await bench.channel.send(several, "k3")
        kinds = [next((kind for kind in ("photo", "voice", "document") if kind in it), "text") for it in fake.sent(7)]
        assert kinds == ["photo", "photo", "photo", "text", "voice", "document"]
        assert fake.texts(7) == ["see", "two", "", "three\n[an attached file cannot be sent]", "", ""]
        assert fake.sent(7)[0]["photo"][0]["file_size"] == len(PNG)
        fake.faults["sendPhoto"] = [Refused(400, "Bad Request: PHOTO_INVALID_DIMENSIONS")]
        await bench.channel.send(Outbound(direct(), "odd", (picture,)), "k4")
        assert "document" in fake.sent(7)[-1]
        assert fake.wrong == []
