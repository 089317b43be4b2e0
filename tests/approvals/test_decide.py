"""Deciding: who may, what of a decision counts, and what each who tries reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookgate.approvals.decide import (
    SEVERAL,
    SHORT,
    UNKNOWN,
    counted,
    meant,
    not_yours,
    outcome,
    refusal_reason,
    so_far,
)
from hookgate.approvals.people import People, Person, may, read_id
from hookgate.protocol.approval import OPERATOR, ApprovalRequest, Decision, Outcome, RequestState, Terms, Voter
from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.decisions import Standing, StoredRequest, Vote
from hookgate.protocol.journal.values import Conversation
from tests.approvals.asking import CALL, House

REQUEST = ApprovalRequest("f", Chat("telegram", "42", sender="7"), CALL, "rule:a", "Run bash?", "", (), 30.0, "d")
ANN_ID = Voter("telegram", "7")
PEOPLE_LISTED = [Person("carl", (Voter("telegram", "9"), Voter("slack", "U9")), ("ops",))]
PEOPLE = People(PEOPLE_LISTED)
NAMED = replace(REQUEST, approvers=("7", "8"))


GROUP = replace(REQUEST, chat=replace(REQUEST.chat, chat_type="group"))


@pytest.mark.parametrize(
    ("request_", "voter", "may_decide"),
    [
        (REQUEST, Voter("telegram", "7"), True),
        (REQUEST, Voter("telegram", "8"), False),
        (REQUEST, Voter("slack", "7"), False),
        (REQUEST, Voter("telegram", "operator"), False),
        (REQUEST, OPERATOR, True),
        (NAMED, Voter("telegram", "8"), True),
        (NAMED, Voter("telegram", "9"), False),
        (NAMED, Voter("slack", "8"), False),
        (replace(NAMED, approvers=("8",)), Voter("telegram", "7"), False),
        (replace(NAMED, approvers=("8",)), OPERATOR, True),
        (replace(NAMED, approvers=("slack:8",)), Voter("slack", "8"), True),
        (replace(NAMED, approvers=("slack:8",)), Voter("telegram", "8"), False),
        (replace(NAMED, approvers=("9",)), Voter("slack", "U9"), True),
        (replace(NAMED, approvers=("carl",)), Voter("slack", "U9"), True),
        (replace(NAMED, approvers=("role:ops",)), Voter("telegram", "9"), True),
        (replace(NAMED, approvers=("role:ops",)), Voter("telegram", "ops"), False),
        (replace(NAMED, approvers=("role:dev", "requester")), Voter("telegram", "7"), True),
        (GROUP, Voter("telegram", "7"), False),
        (replace(REQUEST, terms=Terms(self_approval=False)), Voter("telegram", "7"), False),
        (replace(NAMED, terms=Terms(self_approval=False)), Voter("telegram", "7"), False),
        (replace(NAMED, terms=Terms(self_approval=False)), Voter("telegram", "8"), True),
        (replace(NAMED, approvers=("requester",), terms=Terms(self_approval=False)), Voter("telegram", "7"), True),
    ],
)
def test_whoever_is_named_decides_else_whoever_the_turn_answers(
    request_: ApprovalRequest, voter: Voter, may_decide: bool
) -> None:
    approval = request_.terms.self_approval
    deciders = PEOPLE.deciders(request_.approvers, request_.chat, self_approval=approval)
    assert may(deciders, voter) is may_decide


def test_where_nobody_is_named_and_whoever_asked_may_not_decide_those_do_who_usually_decide_for_others() -> None:
    people = People(
        [Person(name, (Voter("telegram", id_),), ("approver",)) for name, id_ in (("ann", "7"), ("bob", "8"))]
    )
    alone = REQUEST.chat
    assert people.deciders((), alone, self_approval=True) == {ANN_ID}
    assert people.deciders((), alone, self_approval=False) == {Voter("telegram", "8")}
    asked = standing("open")
    shown = replace(REQUEST, terms=Terms(self_approval=False))
    told = not_yours(replace(asked, request=replace(asked.request, shown=shown))).text
    assert told == "Only those with the role approver may decide this."


def test_one_person_under_two_ids_is_shut_out_and_known_as_one() -> None:
    chat = Chat("slack", "C1", sender="U9", chat_type="group")
    assert PEOPLE.deciders(("role:ops",), chat, self_approval=False) == frozenset()
    assert {PEOPLE.known_as(Voter("slack", "U9")), PEOPLE.known_as(Voter("telegram", "9"))} == {"carl"}
    assert counted(REQUEST, Decision(True, "whatever they say"), PEOPLE, Voter("slack", "U9")).name == "carl"


@pytest.mark.parametrize(
    ("request_", "decision", "vote"),
    [
        (REQUEST, Decision(True, "ann"), Vote("ann", True, grant="once")),
        (REQUEST, Decision(False, "ann", "no"), Vote("ann", False, "no")),
        (REQUEST, Decision(False, "ann", grant="session"), Vote("ann", False)),
        (REQUEST, Decision(1, "ann"), Vote("ann", False)),  # type: ignore[arg-type]
        (REQUEST, Decision("yes", "ann"), Vote("ann", False)),  # type: ignore[arg-type]
        (REQUEST, Decision(True, "ann", grant="session"), Vote("ann", True, grant="session")),
        (REQUEST, Decision(True, "ann", grant="always"), Vote("ann", True, grant="once")),
        (REQUEST, Decision(True, "ann", grant="for ever"), Vote("ann", True, grant="once")),  # type: ignore[arg-type]
        (replace(REQUEST, once=True), Decision(True, "ann", grant="session"), Vote("ann", True, grant="once")),
        (replace(REQUEST, always="it"), Decision(True, "ann", grant="always"), Vote("ann", True, grant="always")),
        (REQUEST, True, Vote("nobody", False, "what was asked gave no decision")),
        (REQUEST, None, Vote("nobody", False, "what was asked gave no decision")),
    ],
)
def test_only_true_is_a_yes_and_only_for_what_was_offered(
    request_: ApprovalRequest, decision: object, vote: Vote
) -> None:
    said = counted(request_, decision, PEOPLE, ANN_ID)
    assert replace(said, person=said.name, by="", voter=None) == vote
    assert said.person == ("telegram:7" if isinstance(decision, Decision) else "nobody")


def standing(state: RequestState, *votes: Vote, why: str = "", counts: bool = False) -> Standing:
    stored = StoredRequest("f", Conversation("telegram:42", "main"), "M1", "c1", "d", "p", "rule:a", REQUEST, 2)
    return Standing(stored, state, votes, why, counts)


ANN, NO, LATE = Vote("ann", True), Vote("ann", False, "not today"), Vote("nobody", False, "nobody answered")


@pytest.mark.parametrize(
    ("became", "text"),
    [
        (standing("approved", ANN, counts=True), "Allowed."),
        (standing("refused", NO, counts=True), "Refused."),
        (standing("approved", ANN), "ann has allowed it already."),
        (standing("spent", ANN), "ann has allowed it already."),
        (standing("refused", NO), "ann has refused it already: not today."),
        (standing("refused", replace(NO, reason="")), "ann has refused it already."),
        (standing("refused", LATE), "It is too late: nobody answered."),
        (standing("expired"), "It is too late: nobody answered within 30 s."),
        (standing("void", why="the turn was stopped"), "It is too late: the turn was stopped."),
        (standing("void", ANN, why="the turn was stopped"), "It is too late: the turn was stopped."),
        (standing("open", ANN, counts=True), "1 of 2: it waits for somebody else as well."),
        (standing("open", ANN), "You have said so already. 1 of 2: it waits for somebody else."),
    ],
)
def test_whoever_decides_reads_what_became_of_it(became: Standing, text: str) -> None:
    read = outcome(became)
    assert (read.text, read.counted, read.state) == (text, became.counted, became.state)


def test_how_many_have_allowed_it_is_said_where_several_have_to() -> None:
    alone, two = standing("open", ANN), standing("open", ANN, NO)
    alone = replace(alone, request=replace(alone.request, required=1))
    assert (so_far(alone), so_far(two)) == ("", "1 of 2")


def test_who_has_no_say_reads_who_has() -> None:
    assert not_yours(standing("open")).text == "Only whoever asked for it may decide this."
    named = standing("open")
    named = replace(named, request=replace(named.request, shown=NAMED))
    assert not_yours(named) == Outcome(False, "open", "Only 7, 8 may decide this.")
    assert "those with the role ops" in not_yours(named, ("role:ops",)).text


@pytest.mark.parametrize(
    ("became", "reason"),
    [
        (standing("refused", NO), "not today"),
        (standing("refused", replace(NO, reason="")), "ann said no"),
        (standing("expired"), "nobody answered within 30 s"),
        (standing("void", ANN, why="the rules changed"), "the rules changed"),
    ],
)
def test_the_model_reads_why_it_was_refused(became: Standing, reason: str) -> None:
    assert refusal_reason(became) == reason


async def test_the_beginning_of_an_id_means_all_that_wait_and_where_none_does_what_was_decided() -> None:
    house = House()
    subject, decisions = await house.subject(), house.journal.decisions
    bound = (subject.claim.conversation, "")
    for n in range(5):
        stored = StoredRequest(f"abcd{n}", *bound, f"{n}", f"d{n}", "p", "rule:a", replace(REQUEST, id=f"abcd{n}"))
        await decisions.request(subject.claim, stored)
    for n in (0, 1):
        await decisions.void(f"abcd{n}", "the turn was stopped")
    assert await house.approvals.named("abcd") == ("abcd2", "abcd3", "abcd4")
    assert await house.approvals.named("abcd1") == ("abcd1",)


def test_less_than_four_characters_mean_no_request_however_few_begin_so() -> None:
    assert meant("abc", ("abcd",)) == SHORT
    assert "at least 4 characters" in SHORT.text
    assert meant("abcd", ("abcd",)) == "abcd"
    assert meant("abcd", ("abcd1", "abcd2")) == SEVERAL
    assert meant("abcd", ()) == UNKNOWN


KNOWN = People([*PEOPLE_LISTED, Person("eve", (Voter("telegram", "66"),), paired=True)])


@pytest.mark.parametrize(
    ("listed", "voter", "meant"),
    [
        (("carl",), Voter("slack", "U9"), True),
        (("9",), Voter("slack", "U9"), False),
        (("9",), Voter("telegram", "9"), True),
        (("telegram:9",), Voter("slack", "U9"), True),
        (("7", "role:ops"), Voter("slack", "U9"), True),
        (("role:ops",), Voter("telegram", "8"), False),
        (("8",), Voter("telegram", "8"), True),
        (("slack:8",), Voter("telegram", "8"), False),
        # Nobody has asked for anything there.
        (("requester",), Voter("telegram", ""), False),
        # What somebody was called who came in later is no name in a list.
        (("eve",), Voter("telegram", "66"), False),
        ((), Voter("telegram", "8"), False),
    ],
)
def test_a_list_means_people_by_names_ids_and_roles(listed: tuple[str, ...], voter: Voter, meant: bool) -> None:
    assert KNOWN.are_meant(listed, voter) is meant


@pytest.mark.parametrize(
    ("text", "voter"),
    [
        ("9", Voter("telegram", "9")),
        ("slack:U9", Voter("slack", "U9")),
        ("matrix:@ann:example.org", Voter("matrix", "@ann:example.org")),
        ("@ann:example.org", Voter("telegram", "@ann:example.org")),
    ],
)
def test_an_id_says_its_channel_or_is_of_this_one(text: str, voter: Voter) -> None:
    assert read_id(text, "telegram") == voter
    assert read_id("9") == Voter("", "9")


def test_people_are_known_by_any_of_their_ids() -> None:
    carl, eve, nobody = Voter("slack", "U9"), Voter("telegram", "66"), Voter("slack", "9")
    assert [KNOWN.has_role(it, "ops") for it in (carl, eve, nobody)] == [True, False, False]
    assert not KNOWN.has_role(carl, "dev")
    assert [KNOWN.roles(it) for it in (carl, eve, nobody)] == [("ops",), (), ()]
    assert [KNOWN.has_paired(it) for it in (carl, eve, nobody)] == [False, True, False]
    assert [KNOWN.has(it) for it in ("carl", "eve", "9")] == [True, False, False]
    assert [KNOWN.anybody_has(it) for it in ("ops", "dev")] == [True, False]
    assert KNOWN.known_as(eve) == "eve"


@pytest.mark.parametrize(
    ("title", "headline"),
    [("Run ls?", "Run ls?"), ("It deletes tools.", "It deletes tools. (ls)"), ("Tools?", "Tools? (ls)")],
)
def test_the_tools_name_stands_beside_every_title(title: str, headline: str) -> None:
    assert replace(REQUEST, call=replace(CALL, name="ls"), title=title).headline == headline
