"""A reply while it is written: one message, edited at the channel's pace, whose place the final text takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from math import inf
from pathlib import Path

import pytest
import trio

from hookgate.loop.delivery import queue
from hookgate.loop.delivery.delivery import Delivery
from hookgate.loop.delivery.queue import PREVIEW_S
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.chat.channel import Undelivered
from hookgate.protocol.hook.answers import CONTINUE
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Arrival, Claim, Fenced
from hookgate.store.attempts import GIVEN_UP, NOTHING_SAID, UNSAID
from hookgate.store.journal import open_journal
from hookgate.store.memory import MemoryJournal
from tests.loop.delivery.post import EDIT_S, GROUP_EDIT_S, Board, delivering
from tests.loop.delivery.slow import editing
from tests.loop.recording import CHAT, Bench, FunctionTool, asks_for, hook, says

GROUP = Chat("test", "9", sender="ann", chat_type="group")


async def turn(journal: Journal, chat: Chat = CHAT) -> Claim:
    """A message whose turn has begun."""
    accepted = await journal.intake.accept(Arrival(Inbound(chat, "?"), "main", ""))
    claim = await journal.work.claim("test", 60, accepted.conversation, accepted.id)
    assert claim is not None
    return claim


async def answer(journal: Journal, delivery: Delivery, claim: Claim, *texts: str) -> None:
    assert claim.inbound is not None
    chat = claim.inbound.chat
    delivery.written(chat)
    await journal.work.complete(claim, "answered", (), [Outbound(chat, text) for text in texts])
    delivery.wake(chat)


@pytest.mark.parametrize(("chat", "pace_s"), [(CHAT, EDIT_S), (GROUP, GROUP_EDIT_S)])
async def test_a_reply_is_edited_at_the_channels_pace_and_ends_as_its_final_text(
    chat: Chat, pace_s: float, autojump_clock: object
) -> None:
    journal, board = MemoryJournal(trio.current_time), Board()
    board.takes_s = 0.2
    async with delivering(journal, board) as delivery:
        claim = await turn(journal, chat)
        for _ in range(100):
            delivery.write(claim, chat, "word ")
            await trio.sleep(0.1)
        await answer(journal, delivery, claim, "The end.")
        await board.until("The end.")
        await delivery.idle()
        times = [at for at, _ in board.history]
        assert times[0] >= PREVIEW_S
        assert min(later - at for at, later in pairwise(times)) >= pace_s
        assert len(times) >= 10 // (pace_s + board.takes_s)
        assert [it.text for it in board.sent] == [board.history[0][1]]
        assert await journal.posting.next_row(chat) is None


async def test_what_another_gateway_may_have_gone_on_with_is_shown_no_more(autojump_clock: object) -> None:
    journal, board = MemoryJournal(trio.current_time), Board()
    gone_at = trio.current_time() + 2 * EDIT_S
    async with delivering(journal, board, present=lambda: trio.CancelScope(deadline=gone_at)) as delivery:
        claim = await turn(journal)
        for _ in range(100):
            delivery.write(claim, CHAT, "word ")
            await trio.sleep(EDIT_S / 10)
        assert board.history
        assert max(at for at, _ in board.history) <= gone_at


async def test_an_answer_that_another_gateway_may_have_brought_waits_until_it_is_known_whose_it_is(
    autojump_clock: object,
) -> None:
    journal, board, gone = MemoryJournal(trio.current_time), Board(), [-inf]
    async with delivering(journal, board, present=lambda: trio.CancelScope(deadline=gone[0])) as delivery:
        await answer(journal, delivery, await turn(journal), "It is yours.")
        await delivery.flush(CHAT)
        await answer(journal, delivery, await turn(journal), "Mine.")
        await trio.sleep(60)
        assert board.texts == []
        row = await journal.posting.next_row(CHAT)
        assert row is not None
        await journal.posting.sent(row.id, "as another gateway has")
        gone[0] = inf
        await board.until("Mine.")


async def test_what_has_not_changed_is_not_edited_again(autojump_clock: object) -> None:
    journal, board = MemoryJournal(trio.current_time), Board()
    async with delivering(journal, board) as delivery:
        claim = await turn(journal)
        delivery.write(claim, CHAT, "All of it.")
        await board.until("All of it.")
        delivery.write(claim, CHAT, None)
        await trio.sleep(60)
        delivery.write(claim, CHAT, "All of it.")
        await trio.sleep(60)
        await answer(journal, delivery, claim, "All of it.")
        await delivery.flush(CHAT)
        assert len(board.history) == 1
        assert await journal.posting.next_row(CHAT) is None


async def test_a_short_reply_is_never_shown_in_part(autojump_clock: object) -> None:
    journal, board = MemoryJournal(trio.current_time), Board()
    async with delivering(journal, board) as delivery:
        claim = await turn(journal)
        delivery.write(claim, CHAT, "Ye")
        await trio.sleep(PREVIEW_S / 2)
        await answer(journal, delivery, claim, "Yes.")
        await delivery.flush(CHAT)
        assert [text for _, text in board.history] == ["Yes."]


async def test_of_a_long_text_the_first_part_takes_the_place_and_the_rest_follows(autojump_clock: object) -> None:
    journal, board = MemoryJournal(trio.current_time), Board(longest=12)
    async with delivering(journal, board) as delivery:
        claim = await turn(journal)
        delivery.write(claim, CHAT, "first part\n\nother part")
        await board.until("first part")
        delivery.write(claim, CHAT, "\n\nlast")
        await answer(journal, delivery, claim, "first part\n\nother part\n\nlast")
        await board.until("first part", "other part", "last")


async def test_what_is_said_beside_a_reply_does_not_wait_for_its_end(autojump_clock: object) -> None:
    journal, board = MemoryJournal(trio.current_time), Board()
    async with delivering(journal, board) as delivery:
        claim = await turn(journal)
        delivery.write(claim, CHAT, "I am")
        await board.until("I am")
        await delivery.idle()
        await journal.posting.post("main", [Outbound(CHAT, "help", kind="output")])
        assert await delivery.flush(CHAT) == ""
        assert board.texts == ["I am", "help"]
        await answer(journal, delivery, claim, "I am done.", "And more.")
        await board.until("I am done.", "help", "And more.")


async def test_a_channel_that_asks_for_time_gets_no_previews_and_then_the_final_text(autojump_clock: object) -> None:
    journal, board = MemoryJournal(trio.current_time), Board()
    async with delivering(journal, board) as delivery:
        claim = await turn(journal)
        delivery.write(claim, CHAT, "one ")
        await board.until("one ")
        board.faults = [Undelivered("429", 100.0)]
        began = trio.current_time()
        for _ in range(50):
            delivery.write(claim, CHAT, "two ")
            await trio.sleep(1)
        assert (len(board.history), board.faults) == (1, [])
        await answer(journal, delivery, claim, "three")
        # Nobody waits for it meanwhile, and it costs one call.
        assert await delivery.flush(CHAT) == queue.TOO_MANY
        await board.until("three")
        assert trio.current_time() - began >= 100
        assert len(board.history) == 2


async def test_previews_that_fail_end_and_the_final_text_is_sent_as_ever(autojump_clock: object) -> None:
    journal, board = MemoryJournal(trio.current_time), Board()
    async with delivering(journal, board) as delivery:
        claim = await turn(journal)
        board.faults = [OSError("reset")]
        for _ in range(20):
            delivery.write(claim, CHAT, "word ")
            await trio.sleep(1)
        assert (board.history, board.faults) == ([], [])
        board.faults = [OSError("reset")]
        await answer(journal, delivery, claim, "The end.")
        await board.until("The end.")


async def test_a_preview_that_somebody_has_deleted_is_sent_anew(autojump_clock: object) -> None:
    journal, board = MemoryJournal(trio.current_time), Board()
    async with delivering(journal, board) as delivery:
        claim = await turn(journal)
        delivery.write(claim, CHAT, "The")
        await board.until("The")
        board.shown.clear()
        board.faults = [Undelivered("message to edit not found", final=True)]
        await answer(journal, delivery, claim, "The end.")
        await board.until("The end.")
        assert [it.text for it in board.sent] == ["The", "The end."]


# --- a crash, and whatever comes of the message afterwards ---

Opening = Callable[[], AbstractAsyncContextManager[Journal]]


@pytest.fixture(params=["in memory", "in a file"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opening:
    """The journal as each start finds it. Previews go out at once."""
    monkeypatch.setattr(queue, "PREVIEW_S", 0.0)
    memory = MemoryJournal()

    @asynccontextmanager
    async def open_memory() -> AsyncGenerator[Journal]:
        memory.reopen()
        yield memory

    return open_memory if request.param == "in memory" else lambda: open_journal(tmp_path / "journal.db")


async def cut_off(opened: Opening, board: Board, *, sent: bool) -> Claim:
    """A turn that dies while its reply is written: with half of it in the chat, or on its way there."""
    board.takes_s = 0.0 if sent else inf
    async with opened() as journal, delivering(journal, board) as delivery:
        claim = await turn(journal)
        delivery.write(claim, CHAT, "Half")
        await board.begun.wait()
        if sent:
            await board.until("Half")
            delivery.write(claim, CHAT, " of it")
            # Where the receipt of the first is stored, the next is an edit.
            await board.until("Half of it")
    board.takes_s = 0.0
    return claim


@pytest.mark.parametrize("sent", [True, False], ids=["sent", "unsent"])
async def test_what_a_crash_left_of_a_reply_becomes_the_final_text(opened: Opening, sent: bool) -> None:
    board = Board(edit_s=0.0)
    left = await cut_off(opened, board, sent=sent)
    async with opened() as journal, delivering(journal, board) as delivery:
        await delivery.flush(CHAT)
        assert board.texts == (["Half of it"] if sent else [])
        claim = await journal.work.claim("test", 60, left.conversation, left.message)
        assert claim is not None
        delivery.write(claim, CHAT, "The wh")
        await board.until("The wh")
        await answer(journal, delivery, claim, "The whole of it.", "And more.")
        await board.until("The whole of it.", "And more.")
        await delivery.idle()
        assert await journal.posting.next_row(CHAT) is None


@pytest.mark.parametrize("sent", [True, False], ids=["sent", "unsent"])
async def test_what_a_crash_left_of_a_reply_that_somebody_stops_says_so(opened: Opening, sent: bool) -> None:
    board = Board(edit_s=0.0)
    left = await cut_off(opened, board, sent=sent)
    async with opened() as journal, delivering(journal, board) as delivery:
        new = await journal.intake.accept(Arrival(Inbound(CHAT, "/new"), "main", "", kind="command", effect="new"))
        assert new.meant == (left.message,)
        await journal.intake.settle(left.message, "dropped")
        await delivery.flush(CHAT)
        assert board.texts == [UNSAID["dropped"]]


async def test_what_was_shown_of_a_reply_that_became_void_and_has_no_text_is_not_said_to_be_stopped(
    opened: Opening,
) -> None:
    board = Board(edit_s=0.0)
    left = await cut_off(opened, board, sent=True)
    async with opened() as journal, delivering(journal, board) as delivery:
        claim = await journal.work.claim("test", 60, left.conversation, left.message)
        assert claim is not None
        delivery.write(claim, CHAT, "Half")
        delivery.write(claim, CHAT, None)
        await answer(journal, delivery, claim)
        await delivery.flush(CHAT)
        assert board.texts == [NOTHING_SAID]


async def test_a_reply_that_is_begun_three_times_and_never_ended_is_given_up_where_it_stands(opened: Opening) -> None:
    board = Board(edit_s=0.0)
    left = await cut_off(opened, board, sent=True)
    for _ in range(2):
        async with opened() as journal:
            assert await journal.work.claim("test", 60, left.conversation, left.message)
    async with opened() as journal, delivering(journal, board) as delivery:
        assert await journal.work.claim("test", 60, left.conversation, left.message) is None
        await delivery.flush(CHAT)
        assert board.texts == [GIVEN_UP]


async def test_a_row_that_is_still_written_is_nobodys_to_bring_and_nothing_that_was_said(opened: Opening) -> None:
    async with opened() as journal:
        claim = await turn(journal)
        row = await journal.posting.preview(claim, Outbound(CHAT, "Half"))
        assert (await journal.posting.preview(claim, Outbound(CHAT, "Other"))).id == row.id
        assert (await journal.posting.outgoing("test"), await journal.posting.next_row(CHAT)) == ((), None)
        assert [it.rows for it in await journal.chats.said(claim.conversation)] == [()]
        await journal.posting.previewed(row.id, "m1")
        await journal.work.complete(claim, "answered", (), [Outbound(CHAT, "Whole")])
        found = await journal.posting.next_row(CHAT)
        assert found is not None
        assert (found.id, found.outbound.text, found.preview) == (row.id, "Whole", "m1")
        with pytest.raises(Fenced):
            await journal.posting.preview(claim, Outbound(CHAT, "Late"))


# --- in a turn ---


async def test_what_is_said_before_calls_is_a_message_of_its_own(
    bench: Callable[..., Bench], autojump_clock: object
) -> None:
    tool = FunctionTool("look")
    steps = (asks_for("look", text="I will look."), says("It is there."))
    async with editing(bench, *steps, tools=[tool]) as (made, board, provider):
        await made.gateway.receive(Inbound(CHAT, "go"))
        await board.until("I will")
        provider.go_on.set()
        await made.idle()
        assert board.texts == ["I will look.", "It is there."]


async def test_what_people_have_read_of_a_reply_that_is_stopped_stays(
    bench: Callable[..., Bench], autojump_clock: object
) -> None:
    async with editing(bench, says("One two.")) as (made, board, _):
        await made.gateway.receive(Inbound(CHAT, "go"))
        await board.until("One ")
        await made.gateway.receive(Inbound(CHAT, "/stop"))
        await made.idle()
        assert board.texts == ["One ", "Stopped."]


async def test_where_a_hook_judges_what_leaves_nothing_is_shown_before(
    bench: Callable[..., Bench], autojump_clock: object
) -> None:
    judge = hook("judge", {Stage.BEFORE_SEND: CONTINUE})
    async with editing(bench, says("One two."), hooks=[judge]) as (made, board, provider):
        await made.gateway.receive(Inbound(CHAT, "go"))
        await provider.asked.wait()
        await trio.sleep(10)
        assert board.texts == []
        provider.go_on.set()
        await made.idle()
        assert [text for _, text in board.history] == ["One two."]
