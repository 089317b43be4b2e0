"""A yes counts where all of the call has been shown to whoever says it, however they do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio

from hookgate.approvals.people import People
from hookgate.approvals.people import Person as Known
from hookgate.approvals.reading import MOST_READ, Reading
from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import ApprovalRequest, Decision, Outcome, Voter
from hookgate.protocol.chat import Chat
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.journal.decisions import StoredRequest
from hookgate.protocol.journal.values import Conversation
from hookgate.protocol.values import ToolCall
from tests.approvals.asking import STEP, House, Person

RULE = Rule("a", Matcher({"tools": Globs(("bash",))}), approvers=("boss", "ann"))
ANN = Voter("telegram", "boss")


@dataclass
class Showing(Person):
    """`whole`: what it shows of every request."""

    whole: bool = False
    told: list[str] = field(default_factory=list)

    def shows_whole(self, request: ApprovalRequest) -> bool:
        return self.whole

    def viewed(self, request: str) -> None:
        self.told.append(request)


@dataclass
class Waits:
    house: House
    stored: StoredRequest
    chat: Chat

    async def says(self, voter: Voter = ANN, chat: Chat | None = None, *, yes: bool = True) -> Outcome:
        decision = Decision(yes, "x", said_in=chat or self.chat)
        return await self.house.approvals.decide(self.stored.id, decision, voter)


@asynccontextmanager
async def waiting(channel: Person, people: People | None = None, rule: Rule = RULE) -> AsyncGenerator[Waits]:
    house = House(rule, channels=(channel,), people=people)
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.allowed, channel)
            await channel.asked.wait()
            [stored] = await house.approvals.pending()
            yield Waits(house, stored, STEP.chat)
            nursery.cancel_scope.cancel()


async def test_a_yes_to_what_is_shown_cut_counts_once_its_giver_was_told_all() -> None:
    async with waiting(room := Showing()) as waits:
        refused = await waits.says()
        assert (refused.counted, refused.state) == (False, "open")
        assert f"/pending {waits.stored.id[:8]} shows all" in refused.text
        waits.house.approvals.told(waits.stored, waits.chat)
        assert room.told == [waits.stored.id]
        assert (await waits.says()).text == "Allowed."


async def test_a_no_needs_no_reading() -> None:
    async with waiting(Showing()) as waits:
        assert (await waits.says(yes=False)).text == "Refused."


@pytest.mark.parametrize("channel", [Showing(whole=True), Person()], ids=["shows all", "asks in place"])
async def test_a_yes_in_a_chat_that_shows_all_counts_at_once(channel: Person) -> None:
    async with waiting(channel) as waits:
        elsewhere = await waits.says(chat=Chat("telegram", "77", sender="boss"))
        assert not elsewhere.counted, "nothing of it is seen there"
        assert (await waits.says()).counted


@pytest.mark.parametrize("whole", [True, False])
async def test_a_button_counts_where_the_cards_of_its_channel_show_all(whole: bool) -> None:
    async with waiting(Showing(whole=whole)) as waits:
        assert (await waits.says(chat=Chat("telegram", ""))).counted == whole
        assert not (await waits.says(chat=Chat("slack", ""))).counted


async def test_a_person_reads_under_one_id_and_says_yes_under_another() -> None:
    ann = Known("ann", (ANN, Voter("slack", "U1")), ("approver",))
    async with waiting(Showing(), People((ann,))) as waits:
        waits.house.approvals.told(waits.stored, Chat("slack", "D1", sender="U1"))
        assert (await waits.says()).counted


def test_what_was_read_longest_ago_is_to_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_READ > 1000
    monkeypatch.setattr("hookgate.approvals.reading.MOST_READ", 1)
    reading, chat = Reading({}), STEP.chat
    first, second = (_stored(id_) for id_ in ("a", "b"))
    for stored in (first, second):
        reading.add(stored, "ann", chat)
    assert [reading.done(it, "ann", chat) for it in (first, second)] == [False, True]
    assert not reading.done(second, "bob", chat)


def _stored(id_: str) -> StoredRequest:
    shown = ApprovalRequest(id_, STEP.chat, ToolCall("c", "bash", {}), "rule:a", "", "", (), 1, "d")
    return StoredRequest(id_, Conversation("k", "main"), "", "c", "d", "p", "rule:a", shown)
