"""Rows of the outbox on their way: in order, tried again, given up, side by side, and after a crash."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
import trio
import trio.testing

from hookgate.loop.delivery.delivery import LOOK_S
from hookgate.loop.delivery.queue import MAX_TRIES, SEND_S, SLOW, WAIT_S
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.chat.channel import ChannelLimits, Undelivered
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Arrival, Handed, Row
from hookgate.store.journal import open_journal
from hookgate.store.memory import MemoryJournal
from tests.loop.delivery.post import Board, Post, delivering
from tests.loop.recording import CHAT, OTHER


async def answered(journal: Journal, *texts: str, chat: Chat = CHAT) -> str:
    """A message that has these answers; its id."""
    accepted = await journal.intake.accept(Arrival(Inbound(chat, "?"), "main", ""))
    claim = await journal.work.claim("test", 60, accepted.conversation, accepted.id)
    assert claim is not None
    await journal.work.complete(claim, "answered", (), [Outbound(chat, text) for text in texts])
    return accepted.id


async def given(journal: Journal, call_id: str, outbound: Outbound) -> Handed:
    """As a call gives it to people itself, under a claim of its own."""
    conversation = await journal.intake.conversation(CHAT.session_key, "main")
    claim = await journal.work.claim("test", 60, conversation)
    assert claim is not None
    handed = await journal.work.hand_over(claim, call_id, outbound)
    await journal.work.release(claim)
    return handed


async def passed(journal: Journal, message: str) -> list[tuple[str, str]]:
    """Where a message has been since it was answered."""
    (found,) = await journal.books.where(message)
    return [(it.what, it.why) for it in found.passages if it.what in ("delivered", "dead")]


async def test_rows_arrive_in_order_and_whoever_waits_for_them_goes_on(autojump_clock: object) -> None:
    journal, post = MemoryJournal(trio.current_time), Post()
    async with delivering(journal, post) as delivery:
        message = await answered(journal, "one", "two", "three")
        assert await delivery.flush(CHAT) == ""
        assert post.texts == ["one", "two", "three"]
        assert await passed(journal, message) == [("delivered", "")] * 3
        assert trio.current_time() < WAIT_S


async def test_whoever_waits_for_the_last_row_waits_until_it_is_there_and_not_until_that_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal, post = MemoryJournal(trio.current_time), Post()
    sent, stores = journal.posting.sent, defaultdict[str, trio.Event](trio.Event)

    async def slowly(row: str, receipt: str) -> Row | None:
        await stores[row].wait()
        return await sent(row, receipt)

    monkeypatch.setattr(journal.posting, "sent", slowly)
    accepted = await journal.intake.accept(Arrival(Inbound(CHAT, "?"), "main", ""))
    claim = await journal.work.claim("test", 60, accepted.conversation, accepted.id)
    assert claim is not None

    async def ends() -> Row | None:
        ended = await journal.work.complete(claim, "answered", (), [Outbound(CHAT, "one"), Outbound(CHAT, "two")])
        assert ended.row is not None
        assert not ended.row.last
        stores[ended.row.id].set()
        return ended.row

    async with delivering(journal, post) as delivery:
        await delivery.bring(ends())
        assert await delivery.flush(CHAT) == ""
        assert post.texts == ["one", "two"]
        # Of what is sent alone, the next start would not know.
        async with trio.open_nursery() as nursery:
            nursery.start_soon(delivery.idle)
            await trio.testing.wait_all_tasks_blocked()
            assert len(nursery.child_tasks) == 1
            for event in stores.values():
                event.set()
    assert await passed(journal, accepted.id) == [("delivered", "")] * 2
    assert len(post.tries) == 2


async def test_a_channel_that_asks_for_time_gets_it_and_the_order_stays(autojump_clock: object) -> None:
    journal, post = MemoryJournal(trio.current_time), Post()
    post.faults = [Undelivered("429", 300.0), OSError("reset")]
    async with delivering(journal, post) as delivery:
        await answered(journal, "one", "two")
        began = trio.current_time()
        assert await delivery.flush(CHAT) == "429"
        # It is known by now: nobody waits for it again.
        assert await delivery.flush(CHAT) == "429"
        await delivery.idle(CHAT.session_key)
        assert trio.current_time() - began < WAIT_S
        while len(post.there) < 2:
            await trio.sleep(1)
        assert trio.current_time() - began >= 300
        assert post.texts == ["one", "two"]
        assert await delivery.flush(CHAT) == ""


@pytest.mark.parametrize("fault", ["raises", "refuses"])
async def test_what_cannot_be_delivered_becomes_a_dead_letter_and_holds_nothing_up(
    fault: str, autojump_clock: object
) -> None:
    journal, post = MemoryJournal(trio.current_time), Post()
    post.broken = {"notice"} if fault == "raises" else set()
    post.faults = [Undelivered("no such chat", final=True)] if fault == "refuses" else []
    async with delivering(journal, post) as delivery:
        accepted = await journal.intake.accept(Arrival(Inbound(CHAT, "?"), "main", ""))
        await journal.intake.settle(accepted.id, "answered", [Outbound(CHAT, "bad", kind="notice")])
        other = await answered(journal, "good")
        delivery.wake(CHAT)
        while not post.there:
            await trio.sleep(1)
        why = {"raises": "the chat is gone", "refuses": "no such chat"}[fault]
        assert await passed(journal, accepted.id) == [("dead", why)]
        assert len(set(post.tries[:-1])) == 1
        assert len(post.tries) - 1 == (MAX_TRIES if fault == "raises" else 1)
        await trio.testing.wait_all_tasks_blocked()
        assert await passed(journal, other) == [("delivered", "")]


async def test_a_chat_that_hangs_delays_its_own_turn_once_and_no_other(autojump_clock: object) -> None:
    journal, post = MemoryJournal(trio.current_time), Post()
    post.hangs = {CHAT.chat_id}
    entered: list[float] = []

    @asynccontextmanager
    async def aside() -> AsyncGenerator[None]:
        entered.append(trio.current_time())
        yield

    async with delivering(journal, post) as delivery:
        await answered(journal, "never")
        await answered(journal, "soon", chat=OTHER)
        began = trio.current_time()
        assert await delivery.flush(OTHER) == ""
        assert trio.current_time() == began
        assert await delivery.flush(CHAT, aside) == SLOW
        assert len(entered) == 1
        assert trio.current_time() - began <= WAIT_S + 1
        began = trio.current_time()
        assert await delivery.flush(CHAT, aside) == SLOW
        assert trio.current_time() == began
        # What hangs is tried again, and arrives once it can.
        post.hangs.clear()
        while len(post.there) < 2:
            await trio.sleep(1)
        assert trio.current_time() - began >= SEND_S - WAIT_S


async def test_a_message_with_files_has_the_time_that_its_channel_says(autojump_clock: object) -> None:
    journal, post = MemoryJournal(trio.current_time), Post(limits=ChannelLimits(media_s=200))
    post.hangs = {CHAT.chat_id}
    async with delivering(journal, post):
        accepted = await journal.intake.accept(Arrival(Inbound(CHAT, "?"), "main", ""))
        claim = await journal.work.claim("test", 60, accepted.conversation, accepted.id)
        assert claim is not None
        began = trio.current_time()
        await journal.work.complete(claim, "answered", (), [Outbound(CHAT, "see", ("media:image/png:0",))])
        while len(post.tries) < 2:
            await trio.sleep(1)
        assert trio.current_time() - began >= 200


async def test_whoever_waits_may_be_cancelled_and_the_message_still_arrives_once(autojump_clock: object) -> None:
    journal, post = MemoryJournal(trio.current_time), Post()
    post.faults = [Undelivered("later", 1.0)]
    async with delivering(journal, post) as delivery:
        await answered(journal, "one")
        with trio.CancelScope() as scope:
            scope.cancel()
            await delivery.flush(CHAT)
        assert scope.cancelled_caught
        while not post.there:
            await trio.sleep(1)
        assert post.texts == ["one"]


async def test_what_is_handed_over_and_fails_in_time_is_given_up(autojump_clock: object) -> None:
    journal, post = MemoryJournal(trio.current_time), Post()
    picture, post.faults = Outbound(CHAT, "look", kind="output"), [OSError("too large")]
    async with delivering(journal, post) as delivery:
        row = await given(journal, "5.0", picture)
        assert await delivery.hand_over(CHAT, row.row) == "too large"
        # Whoever asks again after a crash gets to know that, and nothing is sent.
        assert await given(journal, "5.0", picture) == Handed(row.row, "too large")
        await journal.posting.post("main", [Outbound(CHAT, "next")])
        assert await delivery.flush(CHAT) == ""
        assert post.texts == ["next"]
        post.hangs = {CHAT.chat_id}
        row = await given(journal, "5.1", picture)
        assert await delivery.hand_over(CHAT, row.row) == ""


async def test_rows_that_are_forgotten_while_they_wait_never_leave(autojump_clock: object) -> None:
    journal, post = MemoryJournal(trio.current_time), Post()
    post.faults = [Undelivered("later", 30.0)]
    async with delivering(journal, post) as delivery:
        accepted = await journal.intake.accept(Arrival(Inbound(CHAT, "?"), "main", ""))
        await journal.intake.settle(accepted.id, "answered", [Outbound(CHAT, "secret")])
        await delivery.flush(CHAT)
        await journal.books.forget(accepted.conversation)
        await trio.sleep(100)
        assert len(post.tries) == 1
        await journal.posting.post("main", [Outbound(CHAT, "new")])
        assert await delivery.flush(CHAT) == ""
        assert post.texts == ["new"]


async def test_rows_of_a_channel_that_is_gone_wait_for_it(autojump_clock: object) -> None:
    journal, here, gone = MemoryJournal(trio.current_time), Post(), Post("gone")
    there = Chat("gone", "7")
    await answered(journal, "kept", chat=there)
    async with delivering(journal, here) as delivery:
        assert await delivery.flush(there) == ""
        await trio.sleep(3 * LOOK_S)
    async with delivering(journal, here, gone):
        while not gone.there:
            await trio.sleep(1)
    assert (here.texts, gone.texts) == ([], ["kept"])


async def test_what_is_stored_for_a_chat_that_nobody_wakes_leaves_soon(autojump_clock: object) -> None:
    journal, post = MemoryJournal(trio.current_time), Post()
    async with delivering(journal, post):
        await trio.sleep(10)
        began = trio.current_time()
        await journal.posting.post("main", [Outbound(OTHER, "an outcome")])
        while not post.texts:
            await trio.sleep(0.1)
        assert trio.current_time() - began < LOOK_S / 10


async def test_what_nobody_has_told_of_is_found(autojump_clock: object) -> None:
    journal, post = MemoryJournal(trio.current_time), Post()
    async with delivering(journal, post):
        await trio.testing.wait_all_tasks_blocked()
        await answered(journal, "found")
        await trio.sleep(LOOK_S + 1)
    assert post.texts == ["found"]


async def test_a_long_text_goes_in_parts_and_a_failure_repeats_none(autojump_clock: object) -> None:
    journal, post = MemoryJournal(trio.current_time), Post(limits=ChannelLimits(12))
    async with delivering(journal, post) as delivery:
        await journal.posting.post("main", [Outbound(CHAT, "first part\n\nother part\n\nlast", ("data:x",))])
        post.faults = []
        send = post.send

        async def flaky(outbound: Outbound, key: str) -> str:
            if key.endswith(".2") and key not in post.tries:
                post.faults = [OSError("once")]
            assert bool(outbound.media) == key.endswith(".3")
            return await send(outbound, key)

        post.send = flaky
        delivery.wake(CHAT)
        while len(post.there) < 3:
            await trio.sleep(1)
        assert post.texts == ["first part", "other part", "last"]
        assert [it.rpartition(".")[2] for it in post.tries] == ["1", "2", "2", "3"]


async def test_a_text_in_parts_is_the_reply_once(autojump_clock: object) -> None:
    journal, board = MemoryJournal(trio.current_time), Board(longest=20)
    async with delivering(journal, board) as delivery:
        accepted = await journal.intake.accept(Arrival(Inbound(CHAT, "?", message_id="77"), "main", "k"))
        claim = await journal.work.claim("test", 60, accepted.conversation, accepted.id)
        assert claim is not None
        delivery.write(claim, CHAT, "so far")
        await board.until("so far")
        delivery.written(CHAT)
        await journal.work.complete(claim, "answered", (), [Outbound(CHAT, "so far\n\nand a longer part")])
        await delivery.flush(CHAT)
        assert [(it.text, it.in_reply_to) for it in board.sent] == [("so far", "77"), ("and a longer part", "")]


async def test_what_a_crash_left_between_the_answer_and_its_delivery_is_sent_once(tmp_path: Path) -> None:
    post, path = Post(), tmp_path / "journal.db"
    async with open_journal(path) as journal:
        await answered(journal, "first", "second")
        # It has arrived, and the process dies before it has written that down.
        row = await journal.posting.next_row(CHAT)
        assert row is not None
        await post.send(row.outbound, row.id)
    async with open_journal(path) as journal, delivering(journal, post) as delivery:
        assert await delivery.flush(CHAT) == ""
        await delivery.idle()
        assert await journal.posting.next_row(CHAT) is None
    assert post.texts == ["first", "second"]
    assert len(post.tries) == 3


async def test_what_was_sent_is_not_sent_again_while_the_store_cannot_hear_of_it(tmp_path: Path) -> None:
    post, path = Post(limits=ChannelLimits(12)), tmp_path / "journal.db"
    full = "CREATE TRIGGER full BEFORE UPDATE OF state ON outbox BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"

    def change(sql: str) -> None:
        with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as file:
            file.execute(sql)

    async with open_journal(path) as journal, delivering(journal, post) as delivery:
        message = await answered(journal, "first part\n\nother part", "second")
        change(full)
        for _ in range(3):
            await delivery.flush(CHAT)
        assert post.texts == ["first part", "other part"]
        assert await passed(journal, message) == []
        change("DROP TRIGGER full")
        assert await delivery.flush(CHAT) == ""
        await delivery.idle()
        assert await passed(journal, message) == [("delivered", "")] * 2
    assert post.texts == ["first part", "other part", "second"]
    assert len(post.tries) == 3
