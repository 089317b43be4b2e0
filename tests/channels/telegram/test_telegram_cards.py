"""Cards: shown, pressed, changed into what became of them, against whoever and whatever comes between."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import trio

from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.decisions import Vote
from tests.channels.storing import REQUEST, request
from tests.channels.telegram.bench import asked, became, benched, direct, noted, opened
from tests.channels.telegram.fake import ANN, BOB, Refused, open_fake

CLEO = {**BOB, "id": 9, "first_name": "Cleo"}
GROUP = Chat("tg", "-1005", "7", "group")


async def test_a_button_decides_for_whoever_may_and_the_outcome_stays_in_the_text(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.private(ANN)
        fake.group(-1005)
        await asked(bench, request(GROUP), elsewhere=direct())
        [card] = await fake.until(lambda: fake.sent(-1005))
        await fake.until(lambda: fake.sent(7))
        assert "rm -rf /tmp/x\\u202e" in card["text"]
        assert "\n7 asks in tg:-1005.\n" in fake.texts(7)[0]
        strange = fake.press(card, "Allow", BOB)
        answers = await fake.until(lambda: fake.called("answerCallbackQuery"))
        assert answers == [{"callback_query_id": strange, "text": "Only Ann may decide this."}]
        assert "reply_markup" in fake.sent(-1005)[0]
        fake.press(card, "Allow", ANN)
        await fake.until(lambda: len(fake.called("answerCallbackQuery")) == 2)
        assert [it.said_in for it in bench.gateway.said] == [Chat("tg", "")] * 2
        assert (await became(bench, "approved")).votes[-1].name == "Ann (7)"
        for chat in (-1005, 7):
            await fake.until(lambda chat=chat: "reply_markup" not in fake.sent(chat)[0])
            assert fake.texts(chat)[0].endswith("✅ Allowed by Ann (7).")
        stale = fake.press_data(card, f"a:{REQUEST}:no")
        unknown = fake.press_data(card, "anything")
        await fake.until(lambda: len(fake.called("answerCallbackQuery")) == 4)
        told = {it["callback_query_id"]: it["text"] for it in fake.called("answerCallbackQuery")}
        assert told[stale] == "approved: False"
        assert told[unknown] == "There is nothing behind this button any more."
        assert (len(fake.sent(-1005)), len(fake.sent(7)), fake.wrong) == (1, 1, [])


async def test_after_a_restart_the_old_button_works_and_no_second_card_is_shown(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            fake.private(ANN)
            async with opened(tmp_path, fake) as bench:
                await asked(bench, request(direct()))
                [card] = await fake.until(lambda: fake.sent(7))
                await noted(bench)
            async with opened(tmp_path, fake) as bench:
                fake.press(card, "Deny")
                await became(bench, "refused")
                await fake.until(lambda: "reply_markup" not in fake.sent(7)[0])
                assert len(fake.sent(7)) == 1
                assert fake.texts(7)[0].endswith("❌ Refused by Ann (7).")


async def test_a_card_of_what_was_decided_elsewhere_while_nobody_listened_is_changed_at_the_start(
    tmp_path: Path,
) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            fake.private(ANN)
            async with opened(tmp_path, fake) as bench:
                await asked(bench, request(direct()))
                await fake.until(lambda: fake.sent(7))
                await noted(bench)
                fake.faults["editMessageText"] = [Refused(502, "Bad Gateway")] * 3
                await bench.journal.decisions.decide(REQUEST, Vote("op", False, "not today", by="op"))
            async with opened(tmp_path, fake) as bench:
                await fake.until(lambda: "reply_markup" not in fake.sent(7)[0])
                assert fake.texts(7)[0].endswith("❌ Refused: not today.")


async def test_a_card_that_came_twice_since_nobody_noted_the_first_is_decided_once_and_changed_in_both_places(
    tmp_path: Path,
) -> None:
    """The platform knows messages by no key of ours: which one was sent right before a death, a press alone tells."""
    with trio.fail_after(60):
        async with open_fake() as fake:
            fake.private(ANN)
            fake.held["sendMessage"] = trio.Event()
            async with opened(tmp_path, fake) as bench:
                await asked(bench, request(direct()))
                [first] = await fake.until(lambda: fake.sent(7))
            fake.held.pop("sendMessage").set()
            async with opened(tmp_path, fake) as bench:
                second = (await fake.until(lambda: len(fake.sent(7)) == 2 and fake.sent(7)))[1]
                await noted(bench)
                fake.press(first, "Allow")
                fake.press(second, "Deny", CLEO)
                await fake.until(lambda: not any("reply_markup" in it for it in fake.sent(7)))
                standing = await bench.journal.decisions.standing(REQUEST)
                assert standing is not None
                assert len(standing.votes) == 1
                [said] = {it.rpartition("\n")[2] for it in fake.texts(7)}
                assert said == (
                    "✅ Allowed by Ann (7)." if standing.state == "approved" else "❌ Refused by Cleo (9)."
                )
                assert len(fake.sent(7)) == 2


async def test_a_press_of_what_is_no_button_of_its_message_changes_no_message(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.private(ANN)
        fake.group(-1005)
        decided = "a" * 16
        await asked(bench, replace(request(direct()), id=decided))
        [first] = await fake.until(lambda: fake.sent(7))
        fake.press(first, "Deny")
        await fake.until(lambda: "reply_markup" not in fake.sent(7)[0])
        await asked(bench, request(GROUP))
        [card] = await fake.until(lambda: fake.sent(-1005))
        fake.press_data(card, "a:ffffffffffffffff:no", BOB)
        fake.press_data(card, f"a:{decided}:no", BOB)
        await fake.until(lambda: len(fake.called("answerCallbackQuery")) == 3)
        fake.press(card, "Allow")
        await fake.until(lambda: "reply_markup" not in fake.sent(-1005)[0])
        await noted(bench)
        [edited] = [it for it in fake.called("editMessageText") if it["chat_id"] == -1005]
        assert edited["text"].endswith("✅ Allowed by Ann (7).")


async def test_a_card_whose_request_ends_with_its_turn_loses_its_buttons(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, journal = bench.fake, bench.journal
        fake.private(ANN)
        await asked(bench, request(direct()))
        await fake.until(lambda: fake.sent(7))
        await journal.intake.settle("M1", "dropped")
        await fake.until(lambda: "reply_markup" not in fake.sent(7)[0])
        assert "❌ It is void: " in fake.texts(7)[0]


async def test_a_card_of_what_was_forgotten_loses_its_buttons_when_it_is_pressed(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, journal = bench.fake, bench.journal
        fake.private(ANN)
        claim = await asked(bench, request(direct()))
        [card] = await fake.until(lambda: fake.sent(7))
        await noted(bench)
        await journal.books.forget(claim.conversation)
        fake.press(card, "Allow")
        await fake.until(lambda: "reply_markup" not in fake.sent(7)[0])
        assert fake.called("answerCallbackQuery")[0]["text"] == "There is no such request."


async def test_a_decided_card_is_not_shown_live_again_by_an_edit_that_had_to_wait(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.group(-1005)
        await asked(bench, request(GROUP), required=2)
        [card] = await fake.until(lambda: fake.sent(-1005))
        fake.faults["editMessageText"] = [Refused(429, "Too Many Requests: retry after 1", retry_after=1)]
        fake.press(card, "Allow")
        await fake.until(lambda: fake.called("editMessageText"))
        fake.press(card, "Allow", CLEO)
        await became(bench, "approved")
        await fake.until(lambda: "reply_markup" not in fake.sent(-1005)[0])
        await noted(bench)
        edits = [it for it in fake.calls if it.method == "editMessageText"]
        assert ["reply_markup" in it.params for it in edits] == [True, False, False]
        assert edits[1].at - edits[0].at >= 1, "the platform has asked for time"


async def test_a_card_that_arrives_after_its_request_was_decided_elsewhere_is_not_left_live(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.private(ANN)
        fake.held["sendMessage"] = trio.Event()
        await asked(bench, request(direct()))
        await fake.until(lambda: fake.sent(7))
        await bench.journal.decisions.decide(REQUEST, Vote("op", False, "not today", by="op"))
        fake.held["sendMessage"].set()
        await fake.until(lambda: "reply_markup" not in fake.sent(7)[0])
        assert fake.texts(7)[0].endswith("❌ Refused: not today.")
        assert len(fake.called("sendMessage")) == 1


async def test_a_long_call_says_what_it_does_not_show_and_a_card_that_cannot_come_is_given_up(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.private(ANN)
        await asked(bench, request(direct(), path="a", content="x" * 50_000, **{f"n{n}": "y" for n in range(5)}))
        [card] = await fake.until(lambda: fake.sent(7))
        assert "of 50,000 characters more: /pending 01234567 shows all" in card["text"]
        assert fake.wrong == []
        fake.faults["sendMessage"] = [Refused(403, "Forbidden: bot was kicked")]
        await asked(bench, replace(request(GROUP), id="ffff"))
        while not (lost := await bench.journal.decisions.given_up("ffff")):
            await trio.sleep(0.01)
        assert lost == ("Telegram: Forbidden: bot was kicked",)
