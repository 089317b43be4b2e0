"""What both engines of the journal do alike, case by case; and what only the one in a file is asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.codec import decode
from hookgate.protocol.hook.answers import CONTINUE
from hookgate.protocol.journal.decisions import StoredGrant, StoredRequest, Vote
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.keys import Key
from hookgate.protocol.journal.values import (
    Accepted,
    AnswerKey,
    Approval,
    Arrival,
    Claim,
    Draft,
    Fenced,
    Intent,
    PolicyChanged,
    ReadSoFar,
)
from hookgate.protocol.values import Message, ToolCall, Usage
from hookgate.store.attempts import GIVEN_UP, MAX_ATTEMPTS
from hookgate.store.journal import open_journal
from hookgate.store.journal.audit.chain import links
from hookgate.store.journal.claims import FREE, IN_ORDER
from hookgate.store.journal.operators.looking import open_look
from hookgate.store.journal.operators.overview import overview
from hookgate.store.journal.posting import DUE
from hookgate.store.memory import MemoryJournal
from hookgate.store.places import Database
from hookgate.store.postgres import open_postgres_journal

CHAT = Chat("test", "1", "ann")
DAY_S = 86400.0


class Wall:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


Open = Callable[[], AbstractAsyncContextManager[Journal]]


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture(params=["in memory", "in a file", "in PostgreSQL"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, wall: Wall) -> Open:
    """Opens the journal, or opens it again as after the death of the gateway that had it."""
    if request.param == "in PostgreSQL":
        database = Database(request.getfixturevalue("server").database(), tmp_path / "journal")
        return lambda: open_postgres_journal(database, wall=wall)
    memory = MemoryJournal(wall)

    @asynccontextmanager
    async def open_memory() -> AsyncGenerator[Journal]:
        memory.reopen()
        yield memory

    @asynccontextmanager
    async def open_file() -> AsyncGenerator[Journal]:
        async with open_journal(tmp_path / "journal.db", wall=wall) as journal:
            yield journal

    return open_memory if request.param == "in memory" else open_file


@pytest.fixture
async def journal(opened: Open) -> AsyncGenerator[Journal]:
    with trio.fail_after(60):
        async with opened() as journal:
            yield journal


async def accepted(journal: Journal, text: str, chat: Chat = CHAT) -> Accepted:
    return await journal.intake.accept(Arrival(Inbound(chat, text), "agent", text))


async def claimed(journal: Journal, text: str) -> Claim:
    message = await accepted(journal, text)
    claim = await journal.work.claim("g", 60)
    assert claim is not None
    assert claim.message == message.id
    return claim


def asking(claim: Claim, id_: str, digest: str = "d") -> StoredRequest:
    """For call 1.0 of the claim's message."""
    call = ToolCall("c", "ls", {"path": "."})
    shown = ApprovalRequest(id_, CHAT, call, "rule:r", "Run ls?", "", (), 60.0, digest)
    return StoredRequest(id_, claim.conversation, claim.message, "1.0", digest, "p", "rule:r", shown)


async def texts(journal: Journal, claim: Claim) -> list[str]:
    return [it.message.content for it in (await journal.work.load(claim.conversation)).entries]


async def steps(journal: Journal, message: str) -> list[str]:
    return [it.what for found in await journal.books.where(message) for it in found.passages]


async def test_what_joins_a_turn_ends_with_it_if_it_was_read_and_else_has_its_own_turn(journal: Journal) -> None:
    claim = await claimed(journal, "first")
    read, unread = await accepted(journal, "read"), await accepted(journal, "unread")
    await journal.work.append(claim, [Draft(Message("user", "first"))])
    for message, text in ((read, "as hooks left it"), (unread, "unread")):
        await journal.work.join(claim, message.id, Message("user", text))
        with pytest.raises(Fenced):
            await journal.work.join(claim, message.id, Message("user", text))
    assert await texts(journal, claim) == ["first", "as hooks left it", "unread"]
    assert await journal.work.claim("g", 60) is None
    await journal.work.complete(claim, "answered", [Draft(Message("assistant", "both"))], (), [read.id])
    assert await steps(journal, read.id) == ["accepted", "running", "answered"]
    again = await journal.work.claim("g", 60)
    assert again is not None
    assert again.message == unread.id
    assert await texts(journal, again) == ["first", "as hooks left it", "both"]


async def test_whether_a_call_has_failed_stands_with_its_result(opened: Open) -> None:
    said = [Message("tool", "[exit 1]", tool_call_id="c", is_error=it) for it in (True, False, None)]
    async with opened() as journal:
        claim = await claimed(journal, "first")
        await journal.work.append(claim, [Draft(it) for it in said])
    async with opened() as journal:
        assert [it.message for it in (await journal.work.load(claim.conversation)).entries] == said


async def test_what_model_calls_have_cost_stands_with_what_they_have_led_to(opened: Open) -> None:
    """Before a crash and after it, until the message has its outcome and as long as it is kept."""
    first, second = Usage(7, 3, 2, 1), Usage(11, 1)
    async with opened() as journal:
        claim = await claimed(journal, "first")
        await journal.work.append(claim, [Draft(Message("user", "first"))])
        await journal.work.append(claim, [Draft(Message("assistant", "half"), usage=first)])
    async with opened() as journal:
        again = await journal.work.claim("g", 60)
        assert again is not None
        assert [it.usage for it in (await journal.work.load(again.conversation)).entries] == [None, first]
        await journal.work.complete(again, "answered", [Draft(Message("assistant", "all"), usage=second)])
        (exchange,) = await journal.chats.said(again.conversation)
        assert exchange.usage == first + second == Usage(18, 4, 2, 1)


async def test_what_had_joined_a_turn_is_known_to_who_goes_on_with_it(opened: Open) -> None:
    async with opened() as journal:
        claim = await claimed(journal, "first")
        await journal.work.append(claim, [Draft(Message("user", "first"))])
        joins = [await accepted(journal, text) for text in ("second", "third")]
        entries = [await journal.work.join(claim, it.id, Message("user", "joins")) for it in joins]
        joined = tuple((message.id, entry.number) for message, entry in zip(joins, entries, strict=True))
    async with opened() as journal:
        assert (await journal.work.load(claim.conversation)).joined == joined
        again = await journal.work.claim("g", 60)
        assert again is not None
        assert again.message == claim.message
        await journal.work.complete(again, "answered", read=[joins[0].id])
        assert (await journal.work.load(claim.conversation)).joined == ()
        left = await journal.intake.unfinished()
        assert [it.accepted.id for it in left] == [joins[1].id]


async def test_what_had_joined_a_dead_letter_has_its_own_turn(opened: Open) -> None:
    async with opened() as journal:
        claim = await claimed(journal, "poison")
        await journal.work.append(claim, [Draft(Message("user", "poison"))])
        joins = await accepted(journal, "joins")
        await journal.work.join(claim, joins.id, Message("user", "joins"))
    for attempt in range(1, MAX_ATTEMPTS + 1):
        async with opened() as journal:
            again = await journal.work.claim("g", 60)
            assert again is not None
            assert (again.message, again.attempt) == (claim.message, attempt)
    async with opened() as journal:
        its = await journal.work.claim("g", 60)
        assert (await steps(journal, claim.message))[-1] == "dead"
        assert its is not None
        assert (its.message, its.first) == (joins.id, 0)
        assert await texts(journal, its) == ["poison"]


async def test_a_message_that_dies_three_times_without_a_step_is_a_dead_letter_and_its_chat_is_told(
    opened: Open,
) -> None:
    async with opened() as journal:
        message = await accepted(journal, "poison")
    for attempt in range(1, MAX_ATTEMPTS + 1):
        async with opened() as journal:
            claim = await journal.work.claim("g", 60)
            assert claim is not None
            assert claim.attempt == attempt
            if attempt == 1:
                await journal.decisions.request(claim, asking(claim, "A1"))
    async with opened() as journal:
        assert await journal.work.claim("g", 60) is None
        assert (await steps(journal, message.id))[-1] == "dead"
        (row,) = await journal.posting.outgoing("test")
        assert (row.outbound.text, row.in_reply_to) == (GIVEN_UP, message.id)
        standing = await journal.decisions.standing("A1")
        assert standing is not None
        assert standing.state == "void"


async def test_a_step_that_was_stored_begins_the_count_anew(opened: Open) -> None:
    async with opened() as journal:
        await accepted(journal, "long")
    for number in range(MAX_ATTEMPTS + 2):
        async with opened() as journal:
            claim = await journal.work.claim("g", 60)
            assert claim is not None
            assert claim.attempt == 1
            await journal.work.append(claim, [Draft(Message("assistant", f"step {number}"))])


async def test_a_conversation_is_loaded_from_its_last_summary_on(journal: Journal) -> None:
    claim = await claimed(journal, "hello")
    await journal.work.append(claim, [Draft(Message("user", str(number))) for number in range(1, 7)])
    for upto, text in ((3, "1 and 2"), (5, "up to 4")):
        await journal.work.append(claim, [Draft(Message("user", text), upto=upto)])
    await journal.work.append(claim, [Draft(Message("user", "last"))])
    assert await texts(journal, claim) == ["up to 4", "5", "6", "last"]
    await journal.work.rewind(claim, 8)
    assert await texts(journal, claim) == ["1 and 2", "3", "4", "5", "6"]
    (entry,) = await journal.work.append(claim, [Draft(Message("user", "next"))])
    assert entry.number == 10


async def test_a_conversation_can_be_claimed_without_a_message_by_one_at_a_time(journal: Journal) -> None:
    conversation = (await accepted(journal, "x")).conversation
    claim = await journal.work.claim("g", 60, conversation)
    assert claim is not None
    assert claim.message == ""
    assert await journal.work.claim("g", 60, conversation) is None
    assert await journal.work.claim("g", 60) is None
    claim = await journal.work.renew(claim, 120)
    await journal.work.release(claim)
    with pytest.raises(Fenced):
        await journal.work.renew(claim, 120)
    assert await journal.work.claim("g", 60) is not None


async def test_a_message_waits_for_those_before_it_and_all_other_work_for_what_was_cut_off(journal: Journal) -> None:
    first, second, third = [await accepted(journal, text) for text in ("one", "two", "three")]
    assert await journal.work.claim("g", 60, second.conversation, second.id) is None
    claim = await journal.work.claim("g", 60, first.conversation, first.id)
    assert claim is not None
    await journal.work.release(claim)
    assert await journal.work.claim("g", 60, first.conversation) is None
    assert await journal.work.claim("g", 60, third.conversation, third.id) is None
    for message in (first, second, third):
        claim = await journal.work.claim("g", 60, message.conversation, message.id)
        assert claim is not None
        await journal.work.complete(claim, "answered")
    assert await journal.work.claim("g", 60, first.conversation) is not None


async def test_a_lease_that_has_run_out_is_taken_over_and_its_holder_writes_nothing(
    journal: Journal, wall: Wall
) -> None:
    claim = await claimed(journal, "x")
    wall.now += 61
    other = await journal.work.claim("h", 60)
    assert other is not None
    assert (other.message, other.attempt) == (claim.message, 2)
    with pytest.raises(Fenced):
        await journal.work.complete(claim, "answered")


async def test_what_is_forgotten_is_gone_its_claim_is_stale_and_its_repeats_are_known(journal: Journal) -> None:
    claim = await claimed(journal, "secret")
    await journal.work.append(claim, [Draft(Message("user", "secret"))], [Outbound(CHAT, "secret")])
    (row,) = await journal.posting.outgoing("test")
    await journal.books.forget(claim.conversation)
    with pytest.raises(Fenced):
        await journal.work.append(claim, [Draft(Message("user", "more"))])
    assert (await journal.work.load(claim.conversation)).entries == ()
    assert await journal.posting.outgoing("test") == ()
    assert await steps(journal, claim.message) == []
    again = await accepted(journal, "secret")
    assert (again.id, again.known) == (claim.message, True)
    next_ = await claimed(journal, "new")
    assert next_.fence > claim.fence
    (entry,) = await journal.work.append(next_, [Draft(Message("user", "new"))], [Outbound(CHAT, "new")])
    assert entry.number == 2
    (new,) = await journal.posting.outgoing("test")
    assert new.id != row.id


async def test_a_line_that_answers_nothing_waits_in_the_order_of_its_chat(journal: Journal, wall: Wall) -> None:
    claim = await claimed(journal, "x")
    await journal.work.append(claim, [], [Outbound(CHAT, "first")])
    await journal.posting.post(claim.conversation.agent, [Outbound(CHAT, "second"), Outbound(Chat("test", "2"), "b")])
    first = await journal.posting.next_row(CHAT)
    assert first is not None
    await journal.posting.failed(first.id, "429", wall.now + 60)
    again = await journal.posting.next_row(CHAT)
    assert again is not None
    assert (again.id, again.outbound.text, again.tries) == (first.id, "first", 1)
    await journal.posting.dead(first.id, "no such chat")
    (found,) = await journal.books.where(claim.message)
    assert (found.passages[-1].what, found.passages[-1].why) == ("dead", "no such chat")
    assert [it.outbound.text for it in await journal.posting.outgoing("test")] == ["second", "b"]


async def test_what_leaves_names_the_message_that_it_answers_as_its_platform_does(journal: Journal) -> None:
    await journal.intake.accept(Arrival(Inbound(CHAT, "x", message_id="77"), "agent", "k"))
    claim = await journal.work.claim("g", 60)
    assert claim is not None
    await journal.work.append(claim, [], [Outbound(CHAT, "answer")])
    await journal.posting.post("agent", [Outbound(CHAT, "beside")])
    replies = list[tuple[str, str]]()
    while row := await journal.posting.next_row(CHAT):
        assert row in (await journal.posting.outgoing("test"))
        replies.append((row.outbound.text, row.outbound.in_reply_to))
        await journal.posting.sent(row.id, "r")
    assert replies == [("answer", "77"), ("beside", "")]


async def test_a_hooks_answer_counts_for_that_very_question_alone(journal: Journal) -> None:
    claim = await claimed(journal, "x")
    asked = AnswerKey("M1", "on_message", "guard", "content", "digest")
    await journal.work.answered(claim, asked, CONTINUE)
    assert await journal.work.answer(asked) == CONTINUE
    assert await journal.work.answer(AnswerKey("M1", "on_message", "guard", "content", "other")) is None


async def test_a_request_is_adopted_by_its_digest_and_void_where_the_call_is_another(journal: Journal) -> None:
    claim = await claimed(journal, "x")

    def request(id_: str, digest: str) -> StoredRequest:
        return replace(asking(claim, id_, digest), required=2)

    first = await journal.decisions.request(claim, request("A1", "d1"), [Outbound(CHAT, "may I?")])
    assert (await journal.decisions.request(claim, request("A2", "d1"))) == first
    for person, state in (("ann", "open"), ("ann", "open"), ("bob", "approved"), ("carl", "approved")):
        standing = await journal.decisions.decide("A1", Vote(person, True))
        assert standing is not None
        assert standing.state == state
    assert (await journal.decisions.request(claim, request("A3", "d2"))).state == "open"
    assert [it.request.id for it in await journal.decisions.pending()] == ["A3"]
    changed = await journal.decisions.standing("A1")
    assert changed is not None
    assert (changed.state, len(changed.votes)) == ("void", 2)
    with pytest.raises(PolicyChanged):
        await journal.work.intend(claim, Intent("1.0", "p", (Approval("A1", "d1"),)))
    assert await journal.decisions.decide("A9", Vote("ann", True)) is None


async def test_requests_and_grants_end_in_their_time(journal: Journal, wall: Wall) -> None:
    claim = await claimed(journal, "x")
    await journal.decisions.request(claim, replace(asking(claim, "A1"), expires_at=wall.now + 10))
    session, lasting = claim.conversation.session, StoredGrant("G2", "s", "bob", "rule:r", "ls")
    for grant in (replace(lasting, id="G1", session=session, until=wall.now + 10), lasting):
        await journal.decisions.grant(grant)
    assert [it.id for it in await journal.decisions.grants(session)] == ["G1", "G2"]
    assert [it.id for it in await journal.decisions.grants("other")] == ["G2"]
    wall.now += 11
    assert await journal.decisions.pending() == ()
    late = await journal.decisions.decide("A1", Vote("bob", True))
    assert late is not None
    assert (late.state, late.counted) == ("expired", False)
    assert [it.id for it in await journal.decisions.grants(session)] == ["G2"]
    with pytest.raises(PolicyChanged):
        await journal.work.intend(claim, Intent("1.0", "p", (), ("G1",)))
    assert await journal.decisions.revoke("G2")
    assert not await journal.decisions.revoke("G2")


async def test_where_a_message_is_follows_from_who_has_it_and_what_it_waits_for(journal: Journal, wall: Wall) -> None:
    async def state() -> str:
        [found] = await journal.books.where("M1")
        return found.state

    first, second = await accepted(journal, "first"), await accepted(journal, "second")
    assert [it.message for it in await journal.books.where("")] == [first.id, second.id]
    states = [await state()]
    claim = await journal.work.claim("g", 60)
    assert claim is not None
    states.append(await state())
    await journal.decisions.request(claim, replace(asking(claim, "A1"), expires_at=wall.now + 10))
    states.append(await state())
    wall.now += 11
    states.append(await state())
    await journal.work.complete(claim, "answered", (), [Outbound(CHAT, "x")])
    states.append(await state())
    (row,) = await journal.posting.outgoing("test")
    await journal.posting.sent(row.id, "r")
    states.append(await state())
    assert states == ["queued", "running", "waiting", "running", "sending", "delivered"]
    for typed in ("M9", "M%", "_1", "m", "M" + "9" * 20, "M" + "9" * 5000):
        assert await journal.books.where(typed) == (), typed


async def test_a_new_conversation_takes_back_what_was_granted_in_the_one_before_and_nothing_else(
    opened: Open,
) -> None:
    async with opened() as journal:
        for id_, session in (("G1", CHAT.session_key), ("G2", "test:2"), ("G3", "")):
            await journal.decisions.grant(StoredGrant(id_, "s", "bob", "rule:r", "ls", session))
        await journal.intake.accept(Arrival(Inbound(CHAT, "/new"), "agent", "", kind="command", effect="new"))
    async with opened() as journal:
        assert [it.id for it in await journal.decisions.grants()] == ["G2", "G3"]


async def test_a_hold_is_one_holders_until_its_lease_is_over(journal: Journal, wall: Wall) -> None:
    assert await journal.holds.hold("poll", "a", 10)
    assert not await journal.holds.hold("poll", "b", 10)
    assert await journal.holds.hold("poll", "a", 10)
    wall.now += 11
    assert await journal.holds.hold("poll", "b", 10)
    await journal.holds.keep_state("tg", "seq", "7")
    assert (await journal.holds.state("tg", "seq"), await journal.holds.state("tg", "other")) == ("7", "")


async def test_whoever_waits_for_changes_hears_of_one(journal: Journal) -> None:
    heard = trio.Event()

    async def listen(task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        await journal.posting.changed()
        heard.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(listen)
        await trio.testing.wait_all_tasks_blocked()
        await accepted(journal, "x")
        await heard.wait()


# --- in a file ----------------------------------------------------------------------------------------------


async def test_what_is_old_is_dropped_and_what_somebody_waits_for_stays(tmp_path: Path, wall: Wall) -> None:
    with trio.fail_after(60):
        async with open_journal(tmp_path / "journal.db", wall=wall) as journal:
            claims = {name: await _turn(journal, name) for name in ("ended", "to send", "goes on")}
            for row in await journal.posting.outgoing("test"):
                if row.outbound.chat.chat_id != "to send":
                    await journal.posting.sent(row.id, "r")
            waiting = await accepted(journal, "waiting", Chat("test", "waiting"))
            wall.now += 10 * DAY_S
            more = await journal.intake.accept(Arrival(Inbound(Chat("test", "goes on"), "more"), "agent", "more"))
            claim = await journal.work.claim("g", 60, message=more.id)
            assert claim is not None
            await journal.work.complete(claim, "answered", [Draft(Message("user", "sum"), upto=3)])
            await journal.retention.keep(age_s=5 * DAY_S)
            kept = {it.conversation.session for it in await journal.books.sessions()}
            assert kept == {"test:to send", "test:goes on", "test:waiting"}
            assert await texts(journal, claim) == ["sum"]
            assert await steps(journal, claims["goes on"].message) == []
            assert await steps(journal, waiting.id) == ["accepted"]
            assert len(await journal.posting.outgoing("test")) == 1
            assert (await journal.intake.accept(Arrival(Inbound(CHAT, ""), "agent", "ended"))).known
            wall.now += 100 * DAY_S
            await accepted(journal, "late")
            await journal.retention.keep(age_s=5 * DAY_S)
            assert not (await journal.intake.accept(Arrival(Inbound(CHAT, ""), "agent", "ended"))).known
    with open_look(tmp_path / "journal.db") as tables:
        assert tables.all("PRAGMA integrity_check") == [("ok",)]
        # Of the conversation that nothing was summed up in.
        assert len(tables.all("SELECT id FROM calls")) == 1


async def test_a_card_is_kept_as_long_as_its_request_waits_and_edited_then(tmp_path: Path, wall: Wall) -> None:
    with trio.fail_after(60):
        async with open_journal(tmp_path / "journal.db", "process", wall) as journal:
            claim, card = await claimed(journal, "x"), Outbound(CHAT, "Run ls?", kind="notice", request="A1")
            await journal.decisions.request(claim, asking(claim, "A1"), [card])
            (row,) = await journal.posting.outgoing("test")
            await journal.posting.sent(row.id, "m7")
            wall.now += 100 * DAY_S
            await journal.retention.keep(age_s=5 * DAY_S)
            await journal.decisions.decide("A1", Vote("ann", True))
            edit = await journal.posting.next_row(CHAT)
            assert edit is not None
            assert (edit.outbound.request, edit.preview) == ("A1", "m7")


async def test_what_is_too_much_is_dropped_the_oldest_first(tmp_path: Path, wall: Wall) -> None:
    with trio.fail_after(60):
        async with open_journal(tmp_path / "journal.db", "process", wall) as journal:
            for number in range(130):
                wall.now += 1
                await _turn(journal, f"{number:03}", "x" * 20_000)
                for row in await journal.posting.outgoing("test"):
                    await journal.posting.sent(row.id, "r")
            used = await journal.retention.used_bytes()
            await journal.retention.keep(most_bytes=used // 3)
            assert await journal.retention.used_bytes() <= used // 3
            left = [it.conversation.session for it in await journal.books.sessions()]
            assert left == [f"test:{number:03}" for number in range(130 - len(left), 130)]
            assert 20 < len(left) < 60


async def _turn(journal: Journal, name: str, text: str = "said") -> Claim:
    chat = Chat("test", name)
    message = await accepted(journal, name, chat)
    claim = await journal.work.claim("g", 60, message=message.id)
    assert claim is not None
    await journal.work.append(claim, [Draft(Message("user", text)), Draft(Message("assistant", text))])
    await journal.work.intend(claim, Intent("2.0", "p"))
    await journal.work.complete(claim, "answered", (), [Outbound(chat, "answer")])
    return claim


@pytest.mark.parametrize(
    ("sql", "values", "index"),
    [(f"{FREE} {IN_ORDER}", (0.0,), "waiting"), (f"{DUE} ORDER BY number", ("test", 0.0), "outgoing")],
    ids=["what is unfinished", "what is to be sent"],
)
async def test_what_a_start_looks_for_has_an_index_that_holds_nothing_else(
    tmp_path: Path, sql: str, values: tuple[object, ...], index: str
) -> None:
    async with open_journal(tmp_path / "journal.db"):
        pass
    with open_look(tmp_path / "journal.db") as tables:
        plan = [row[3] for row in tables.all(f"EXPLAIN QUERY PLAN {sql}", *values)]
        [[partial]] = tables.all("SELECT partial FROM pragma_index_list(?) WHERE name = ?", _table(index), index)
    assert any(f"INDEX {index}" in line for line in plan), plan
    assert not any(line.startswith("SCAN") and "INDEX" not in line for line in plan), plan
    assert partial


def _table(index: str) -> str:
    return {"waiting": "messages", "outgoing": "outbox"}[index]


async def test_a_chat_is_listed_searched_and_read_with_what_was_sent_but_not_what_was_replaced(
    journal: Journal,
) -> None:
    one, other = Chat("web", "ann", "ann", thread="1"), Chat("web", "bob", "bob", thread="1")
    first = await accepted(journal, "first 100%", one)
    await accepted(journal, "of Bob's", other)
    for text in ("first 100%", "second"):
        if text == "second":
            await accepted(journal, text, one)
        claim = await journal.work.claim("g", 60, first.conversation, f"M{1 if text != 'second' else 3}")
        assert claim is not None
        if text == "second":
            await journal.work.rewind(claim, 1)
        await journal.work.append(claim, [Draft(Message("user", text))])
        said = Draft(Message("assistant", f"to {text}"))
        await journal.work.complete(claim, "answered", [said], [Outbound(one, f"to {text}")])
    await accepted(journal, "waits", one)
    exchanges = await journal.chats.said(first.conversation)
    told = [(it.inbound.text if it.inbound else "", it.begun, it.outcome) for it in exchanges]
    assert told == [("second", True, "answered"), ("waits", False, None)]
    assert [it.message.content for _, it in exchanges[0].entries] == ["second", "to second"]
    assert [it.outbound.text for _, it in exchanges[0].rows] == ["to second"]
    assert len(await journal.chats.said(first.conversation, 1)) == 1

    async def listed(sessions: str, search: str = "") -> list[str]:
        return [it.title for it in await journal.chats.listed(sessions, search)]

    assert await listed("web:ann:") == ["first 100%"]
    assert await listed("web:an") == ["first 100%"]
    assert await listed("web:ann:", "TO SEC") == ["first 100%"]
    assert await listed("web:ann:", "0%") == ["first 100%"]
    assert await listed("web:ann:", "1_0") == []


async def test_what_is_turned_away_is_stored_with_its_end_and_its_line_at_once(journal: Journal) -> None:
    arrival, line = Arrival(Inbound(CHAT, "let me in"), "agent", "m1"), Outbound(CHAT, "no", kind="notice")
    first = await journal.intake.refuse(arrival, "a stranger", [line])
    again = await journal.intake.refuse(arrival, "a stranger", [line])
    assert (again.id, first.known, again.known) == (first.id, False, True)
    assert await journal.intake.unfinished() == ()
    [row] = await journal.posting.outgoing(CHAT.channel)
    await journal.posting.sent(row.id, "")
    assert (row.outbound, await journal.posting.next_row(CHAT)) == (line, None)
    [found] = await journal.books.where(first.id)
    assert [(it.what, it.why) for it in found.passages[:2]] == [("accepted", ""), ("refused", "a stranger")]


async def test_what_was_given_up_is_listed_and_tried_again_or_dropped_by_whoever_says_so(opened: Open) -> None:
    with trio.fail_after(60):
        async with opened() as journal:
            message = await accepted(journal, "hello")
        for _ in range(MAX_ATTEMPTS):
            async with opened() as journal:
                assert await journal.work.claim("g", 60) is not None
        async with opened() as journal:
            assert await journal.work.claim("g", 60) is None
            for _ in range(2):
                (row,) = await journal.posting.outgoing("test")
                await journal.posting.failed(row.id, "no network", 0.0)
                [waiting] = (await journal.books.overview()).outgoing
                assert (waiting.session, waiting.rows, waiting.tries, waiting.why) == ("test:1", 1, 1, "no network")
                await journal.posting.dead(row.id, "the bot was blocked")
                found = await journal.books.overview()
                letters = {it.kind: it for it in found.letters}
                assert (found.dead, found.outgoing) == (2, ())
                assert (letters["incoming"].id, letters["incoming"].text) == (message.id, "hello")
                answer = letters["outgoing"]
                assert (answer.text, answer.why, answer.message) == (GIVEN_UP, "the bot was blocked", message.id)
                assert (answer.session, answer.tries) == ("test:1", 2)
                assert await journal.books.retry(answer.id, "ann") == CHAT
                assert (await journal.books.overview()).dead == 1
            (row,) = await journal.posting.outgoing("test")
            await journal.posting.dead(row.id, "the bot was blocked")
            assert await journal.books.drop(answer.id, "ann")
            assert not await journal.books.drop(answer.id, "ann")
            assert await journal.books.retry(answer.id, "ann") is None
            assert await journal.books.retry(message.id, "ann") == CHAT
            claim = await journal.work.claim("g", 60)
            assert claim is not None
            assert (claim.message, claim.attempt) == (message.id, 1)
            await journal.work.complete(claim, "answered")
            assert (await steps(journal, message.id))[-3:] == ["retried", "running", "answered"]
            found = await journal.books.overview()
            assert (found.dead, found.unfinished) == (0, 0)


@pytest.mark.parametrize("gone_on", [True, False])
async def test_a_dead_letter_goes_on_where_it_was_or_begins_anew_behind_what_came_since(
    opened: Open, gone_on: bool
) -> None:
    with trio.fail_after(60):
        async with opened() as journal:
            message = await accepted(journal, "hello")
            claim = await journal.work.claim("g", 60)
            assert claim is not None
            await journal.work.append(claim, [Draft(Message("user", "hello"))])
        # The claim that has stored a step is no attempt.
        for _ in range(MAX_ATTEMPTS):
            async with opened() as journal:
                assert await journal.work.claim("g", 60) is not None
        async with opened() as journal:
            assert await journal.work.claim("g", 60) is None
            if gone_on:
                await accepted(journal, "and you?")
                claim = await journal.work.claim("g", 60)
                assert claim is not None
                await journal.work.complete(claim, "answered", [Draft(Message("user", "and you?"))])
            assert await journal.books.retry(message.id, "ann") == CHAT
            claim = await journal.work.claim("g", 60)
            assert claim is not None
            assert (claim.message, claim.first) == (message.id, 0 if gone_on else 1)


async def test_who_tried_a_dead_letter_again_or_dropped_it_stands_in_the_audit_chain(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    with trio.fail_after(60):
        async with open_journal(file) as journal:
            await journal.posting.post("agent", [Outbound(CHAT, "news")])
            (row,) = await journal.posting.outgoing("test")
            for act in (journal.books.retry, journal.books.drop):
                await journal.posting.dead(row.id, "blocked")
                await act(row.id, "web:ann")
        with open_look(file) as tables:
            records = [decode(it.body) for it in links(tables)]
            found = overview(file, tables)
    assert [(it["kind"], it["letter"], it["by"]) for it in records] == [
        ("retried", row.id, "web:ann"),
        ("dropped", row.id, "web:ann"),
    ]
    assert (found.audit.records, found.audit.signed) == (2, 2)
    assert found.audit.signed_at > 0
    assert found.store.bytes >= found.store.used > 0


async def test_a_name_has_one_key_for_a_channel_until_it_is_revoked(opened: Open) -> None:
    key, other = (Key(hash_, "rpc", "ann", "operator", 1.5) for hash_ in ("aa", "bb"))
    elsewhere = Key("cc", "api", "ann", "operator", 1.5)
    async with opened() as journal:
        assert await journal.keys.keep(key)
        assert not await journal.keys.keep(other)
        assert await journal.keys.keep(elsewhere)
    async with opened() as journal:
        assert await journal.keys.listed() == (elsewhere, key)
        assert await journal.keys.revoke(key, "operator")
        assert not await journal.keys.revoke(key, "operator")
        assert await journal.keys.keep(other)


async def test_a_claim_brings_what_was_said_to_whoever_has_missed_it(journal: Journal) -> None:
    claim = await claimed(journal, "first")
    await journal.work.append(claim, [Draft(Message("user", "first"))])
    await journal.work.complete(claim, "answered", [Draft(Message("assistant", "done"))])

    async def again(text: str, known: ReadSoFar | None) -> Claim:
        message = await accepted(journal, text)
        claim = await journal.work.claim("g", 60, message.conversation, message.id, known)
        assert claim is not None
        await journal.work.complete(claim, "answered")
        return claim

    missed, had, unasked = (
        await again("a", ReadSoFar()),
        await again("b", ReadSoFar(claim.fence + 1)),
        await again("c", None),
    )
    assert missed.stored == await journal.work.load(claim.conversation)
    assert [it.message.content for it in missed.stored.entries] == ["first", "done"]
    assert (had.stored, unasked.stored) == (None, None)


async def test_what_is_said_first_is_stored_with_the_claim_unless_more_was_said_than_its_writer_knows(
    journal: Journal,
) -> None:
    async def begun(text: str, fence: int) -> Claim:
        message, says = await accepted(journal, text), (Draft(Message("user", text)),)
        claim = await journal.work.claim("g", 60, message.conversation, message.id, ReadSoFar(fence, says))
        assert claim is not None
        return claim

    new = await begun("first", -1)
    assert [it.message.content for it in new.entered] == ["first"]
    await journal.work.complete(new, "answered", [Draft(Message("assistant", "done"))])
    stale = await begun("second", -1)
    assert stale.entered == ()
    await journal.work.complete(stale, "answered")
    known = await begun("third", stale.fence)
    assert [it.number for it in known.entered] == [3]
    await journal.work.release(known)
    again = await journal.work.claim(
        "g", 60, known.conversation, known.message, ReadSoFar(known.fence, (Draft(Message("user", "x")),))
    )
    assert again is not None
    assert (again.first, again.entered) == (3, ())
    stored = await journal.work.load(new.conversation)
    assert [it.message.content for it in stored.entries] == ["first", "done", "third"]


async def test_a_claim_says_whether_something_newer_has_begun(journal: Journal) -> None:
    old = await accepted(journal, "old")
    claim = await journal.work.claim("g", 60, old.conversation, old.id, ReadSoFar())
    assert claim is not None
    assert claim.latest
    await journal.work.release(claim)
    await journal.intake.accept(Arrival(Inbound(CHAT, ""), "agent", "n", kind="command", effect="new"))
    passed = await journal.work.claim("g", 60, old.conversation, old.id, ReadSoFar())
    assert passed is not None
    assert not passed.latest
