"""Cards that never come to their chats: whoever cannot be asked is not waited for."""

from __future__ import annotations

from pathlib import Path
from time import time
from typing import cast

import pytest
import trio
import trio.testing

from hookgate.approvals.binding import NotApproved, Subject
from hookgate.approvals.people import People, Person
from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import Terms, Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED
from hookgate.protocol.events.payloads import ApprovalDecided
from hookgate.protocol.journal.decisions import Vote
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Arrival, Row
from hookgate.store.places import Database
from hookgate.store.postgres import cluster, open_postgres_journal
from tests.approvals import asking
from tests.approvals.asking import CALL, STEP, YES, House
from tests.postgres import Server

DEADLINE_S = 60.0
NEVER_S = 1e9


class Wall:
    """A channel that shows cards, and asks nobody itself."""

    name, limits, state = "telegram", UNLIMITED, PRESENT

    async def send(self, outbound: Outbound, key: str) -> str:
        raise AssertionError

    def stream(self, chat: Chat, text: str) -> None: ...

    def end_stream(self, chat: Chat) -> None: ...

    def restart_stream(self, chat: Chat) -> None: ...


WALL = cast("asking.Person", Wall())
PEOPLE = People([Person("boss", (Voter("telegram", "boss"), Voter("telegram", "42")), ("ops",))])
RULE = Rule("r", approvers=("role:ops",), terms=Terms(ask_in=("telegram:ops",)))


async def cards(*journals: Journal) -> list[Row]:
    """Both of them, which belong to one each perhaps; what was said before them is there."""
    while True:
        rows = [(it.posting, row) for it in journals for row in await it.posting.outgoing("telegram")]
        if len(found := [row for _, row in rows if row.outbound.request]) == 2:
            return found
        for posting, row in rows:
            if row not in found:
                await posting.sent(row.id, "")
        await trio.sleep(0.001)


async def test_a_request_none_of_whose_cards_arrives_is_refused_and_says_why() -> None:
    house, ended = House(RULE, people=PEOPLE, channels=[WALL]), list[object]()
    journal, wishes = house.journal, house.approvals.wishes(STEP, CALL)
    took = await journal.intake.accept(Arrival(STEP.inbound, "main", ""))
    claim = await journal.work.claim("gateway", 60, took.conversation, took.id)
    assert claim is not None

    async def settle(call_id: str) -> None:
        ended.append(await house.approvals.settle(Subject(claim, STEP, CALL, call_id), wishes, WALL))

    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(settle, "1.0")
            first, second = await cards(journal)
            [waits] = await house.approvals.pending()
            for card in (first, second):
                assert card.outbound == Outbound(card.outbound.chat, "Run bash?", kind="notice", request=waits.id)
            await journal.posting.dead(first.id, "Forbidden: bot was kicked")
            house.approvals.look_at(first.outbound.request)
            await trio.testing.wait_all_tasks_blocked()
            assert ended == [], "there is another chat"
            await journal.posting.dead(second.id, "chat not found")
            house.approvals.look_at(second.outbound.request)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(settle, "2.0")
            lost = await cards(journal)
            nursery.cancel_scope.cancel()
        for card in lost:
            await journal.posting.dead(card.id, "chat not found")
        # As after a restart: nobody tells it any more.
        await settle("2.0")
    reasons = [it.reason for it in ended if isinstance(it, NotApproved)]
    assert reasons == [f"the chat could not ask: {why}" for why in ("Forbidden: bot was kicked", "chat not found")]
    decided = [it for it in house.told if isinstance(it, ApprovalDecided)]
    assert {(it.by, it.approved) for it in decided} == {("nobody", False)}
    for it, reason in zip(decided, reasons, strict=True):
        standing = await house.approvals.standing(it.id)
        assert standing is not None
        assert standing.votes == (Vote("nobody", False, reason),)
    assert await house.approvals.pending() == ()


async def test_whoever_is_asked_in_place_decides_where_the_store_cannot_say_which_cards_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def unreadable(_request: str) -> tuple[str, ...]:
        raise StoreFailed("the disk is gone")

    house, person = House(RULE, people=PEOPLE), asking.Person()
    monkeypatch.setattr(house.journal.decisions, "given_up", unreadable)
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.allowed, person)
            await person.asked.wait()
            came = await house.approvals.decide(person.requests[0].id, YES, Voter("telegram", "boss"))
    assert came.text == "Allowed."


@pytest.mark.parametrize("told", [pytest.param(True, id="told"), pytest.param(False, id="found by looking")])
async def test_cards_that_another_gateway_gives_up_are_not_waited_for_here(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, told: bool
) -> None:
    monkeypatch.setattr(cluster, "LOOK_S", NEVER_S if told else 0.2)
    ended, database = list[object](), Database(server.database(), tmp_path / "journal")
    with trio.fail_after(DEADLINE_S):
        async with (
            open_postgres_journal(database, shared=True) as one,
            open_postgres_journal(database, shared=True) as two,
        ):
            while len(one.cluster.members) < 2 or len(two.cluster.members) < 2:
                await trio.sleep(0.01)
            mine = one.cluster.place_of(STEP.chat.session_key) == one.cluster.me
            owner, other = (one, two) if mine else (two, one)
            here, elsewhere = (
                House(RULE, people=PEOPLE, channels=[WALL], journal=it, clock=time) for it in (owner, other)
            )
            took = await owner.intake.accept(Arrival(STEP.inbound, "main", ""))
            claim = await owner.work.claim("gateway", 60, took.conversation, took.id)
            assert claim is not None

            async def settle() -> None:
                wishes = here.approvals.wishes(STEP, CALL)
                ended.append(await here.approvals.settle(Subject(claim, STEP, CALL, "1.0"), wishes, WALL))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(settle)
                for card in await cards(one, two):
                    await other.posting.dead(card.id, "chat not found")
                    if told:
                        elsewhere.approvals.look_at(card.outbound.request)
    assert [it.reason for it in ended if isinstance(it, NotApproved)] == ["the chat could not ask: chat not found"]
