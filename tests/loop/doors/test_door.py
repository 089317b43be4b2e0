"""Who comes in: what a door says of a message, as a table; without a gateway and without memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookgate.approvals.people import People, Person
from hookgate.loop.doors.door import Door, Judgement, judge
from hookgate.protocol.approval import Voter
from hookgate.protocol.chat import Chat, Inbound

ANN = Person("ann", (Voter("tg", "7"), Voter("slack", "U7")), ("ops",))
PEOPLE = People([ANN, Person("40", (Voter("slack", "U40"),))])
DIRECT = Inbound(Chat("tg", "7", "7"), "hello")
GROUP = Inbound(Chat("tg", "-100", "7", chat_type="group"), "hello")


@pytest.mark.parametrize(
    ("allow", "sender", "judged"),
    [
        ((), "7", "stranger"),
        (("7",), "7", "in"),
        (("tg:7",), "7", "in"),
        (("ann",), "7", "in"),
        (("role:ops",), "7", "in"),
        # One id of a person, on another channel, lets all of this person's ids in; of another channel none.
        (("slack:U7",), "7", "in"),
        (("ann", "role:ops"), "8", "stranger"),
        (("slack:8",), "8", "stranger"),
        (("role:nobody",), "7", "stranger"),
        # It is no name that somebody may claim: whoever writes is no list.
        (("requester",), "7", "stranger"),
        # Whole, where what stands before its colon is no channel's name.
        (("@ann:example.org",), "@ann:example.org", "in"),
        (("tg:@ann:example.org",), "@ann:example.org", "in"),
        (("@ann:example.org",), "example.org", "stranger"),
        # What is a person's name is no id of a chat.
        (("40",), "40", "stranger"),
    ],
)
def test_who_is_listed_comes_in_and_nobody_else(allow: tuple[str, ...], sender: str, judged: Judgement) -> None:
    said = replace(DIRECT, chat=Chat("tg", sender, sender))
    assert judge(Door(allow), PEOPLE, said) == judged


@pytest.mark.parametrize(
    ("door", "said", "judged"),
    [
        (Door(("ann",)), GROUP, "aside"),
        (Door(("ann",)), replace(GROUP, mentioned=True), "in"),
        (Door(("ann",)), replace(GROUP, reply_to_bot=True), "in"),
        (Door(("ann",), group="all"), GROUP, "in"),
        (Door(("8",), group="all"), GROUP, "stranger"),
        (Door(("-100",), group="all"), GROUP, "in"),
        (Door(("tg:-100",)), replace(GROUP, mentioned=True), "in"),
        (Door(everybody=True), GROUP, "aside"),
    ],
)
def test_in_a_group_only_what_is_meant_for_the_bot_is_heard(door: Door, said: Inbound, judged: Judgement) -> None:
    assert judge(door, PEOPLE, said) == judged


def test_a_command_in_a_group_is_meant_for_the_bot() -> None:
    assert judge(Door(("ann",)), PEOPLE, GROUP, commands=True) == "in"
    assert judge(Door(("8",)), PEOPLE, GROUP, commands=True) == "stranger"


@pytest.mark.parametrize("id_", ["40", "U40", "-100"])
def test_what_a_guest_is_called_is_the_id_of_somebody_else_in_every_list(id_: str) -> None:
    people = People([ANN, Person(id_, (Voter("tg", "66"),), paired=True)])
    theirs, guest = (replace(DIRECT, chat=Chat("tg", it, it)) for it in (id_, "66"))
    assert [judge(Door((id_,)), people, it) for it in (theirs, guest)] == ["in", "stranger"]
    group = replace(GROUP, chat=Chat("tg", id_, "9", chat_type="group"), mentioned=True)
    assert judge(Door((id_,)), people, group) == "in"
    assert people.deciders((id_,), Chat("tg", "1", "1"), self_approval=True) == {Voter("tg", id_)}
