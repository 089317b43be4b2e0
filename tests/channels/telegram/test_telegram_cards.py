"""Cards against whoever and whatever comes between: presses of no button, ends that come late, calls that cross."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from hookgate.channels.platforms import asking
from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.values import Vote
from tests.channels.storing import request, unused
from tests.channels.telegram.bench import asked, became, benched, direct
from tests.channels.telegram.fake import ANN, BOB, Refused

CLEO = {**BOB, "id": 9, "first_name": "Cleo"}
GROUP = Chat("tg", "-1005", "7", "group")


async def test_a_press_of_what_is_no_button_of_its_message_changes_no_message(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.private(ANN)
        fake.group(-1005)
        decided = "a" * 16
        async with asked(bench, replace(request(direct()), id=decided)):
            [first] = await fake.until(lambda: fake.sent(7))
            fake.press(first, "Deny")
            await fake.until(lambda: "reply_markup" not in fake.sent(7)[0])
        async with asked(bench, request(GROUP)):
            [card] = await fake.until(lambda: fake.sent(-1005))
            fake.press_data(card, "a:ffffffffffffffff:no", BOB)
            fake.press_data(card, f"a:{decided}:no", BOB)
            await fake.until(lambda: len(fake.called("answerCallbackQuery")) == 3)
            fake.press(card, "Allow")
            await fake.until(lambda: "reply_markup" not in fake.sent(-1005)[0])
        [edited] = [it for it in fake.called("editMessageText") if it["chat_id"] == -1005]
        assert edited["text"].endswith("✅ Allowed by Ann (7).")
        assert fake.called("editMessageReplyMarkup") == []


async def test_a_card_whose_request_is_void_only_after_nobody_asks_any_more_loses_its_buttons(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.private(ANN)
        async with asked(bench, request(direct())):
            await fake.until(lambda: fake.sent(7))
        await trio.testing.wait_all_tasks_blocked(0.1)
        await bench.journal.decisions.void("0123456789abcdef", "it was stopped")
        await fake.until(lambda: "reply_markup" not in fake.sent(7)[0])
        assert fake.texts(7)[0].endswith("❌ It is void: it was stopped.")


async def test_a_decided_card_is_not_shown_live_again_by_an_edit_that_had_to_wait(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.group(-1005)
        async with asked(bench, request(GROUP), required=2):
            [card] = await fake.until(lambda: fake.sent(-1005))
            fake.faults["editMessageText"] = [Refused(429, "Too Many Requests: retry after 1", retry_after=1)]
            fake.press(card, "Allow")
            await fake.until(lambda: fake.called("editMessageText"))
            fake.press(card, "Allow", CLEO)
            await became(bench, "approved")
            await fake.until(lambda: "reply_markup" not in fake.sent(-1005)[0])
        edits = [it for it in fake.calls if it.method == "editMessageText"]
        assert ["reply_markup" in it.params for it in edits] == [True, False]
        assert edits[1].at - edits[0].at >= 1, "the platform has asked for time"


async def test_a_card_that_cannot_be_changed_for_long_is_changed_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "LONGEST_S", 0.02)
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.private(ANN)
        async with asked(bench, request(direct())):
            [card] = await fake.until(lambda: fake.sent(7))
            fake.faults["editMessageText"] = [Refused(502, "Bad Gateway")] * 12
            fake.press(card, "Allow")
            await fake.until(lambda: "reply_markup" not in fake.sent(7)[0])
        assert len(fake.called("editMessageText")) == 13


async def test_a_card_that_arrives_after_its_request_was_decided_elsewhere_is_not_left_live(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.private(ANN)
        fake.held["sendMessage"] = trio.Event()
        async with asked(bench, request(direct())):
            await fake.until(lambda: fake.sent(7))
            await bench.journal.decisions.decide("0123456789abcdef", Vote("op", False, "not today", by="op"))
        fake.held["sendMessage"].set()
        await fake.until(lambda: "reply_markup" not in fake.sent(7)[0])
        assert fake.texts(7)[0].endswith("❌ Refused: not today.")
        assert len(fake.called("sendMessage")) == 1


async def test_whoever_asks_again_while_the_card_is_on_its_way_gets_that_one(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.private(ANN)
        fake.held["sendMessage"] = trio.Event()
        async with asked(bench, request(direct())):
            await fake.until(lambda: fake.sent(7))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bench.channel.ask, request(direct()), unused)
            await trio.testing.wait_all_tasks_blocked()
            fake.held["sendMessage"].set()
            fake.press(fake.sent(7)[0], "Allow")
            await fake.until(lambda: "reply_markup" not in fake.sent(7)[0])
            nursery.cancel_scope.cancel()
        assert len(fake.called("sendMessage")) == 1
