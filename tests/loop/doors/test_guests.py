"""Pairing: codes that are open, used, over, guessed; people who are let in, given roles and put out."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import trio

from hookgate.approvals.people import Person
from hookgate.loop.doors.guests import CODE_S, Guests, NotPaired
from hookgate.protocol.approval import Voter
from hookgate.protocol.journal.interfaces import Journal
from hookgate.store.attempts import MOST_PAIRINGS, MOST_PAIRINGS_OF_ONE
from hookgate.store.journal import open_journal
from hookgate.store.memory import MemoryJournal

ANN = Person("ann", (Voter("tg", "7"),), ("operator",))
EVE = Voter("tg", "66")


class Wall:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture(params=["in memory", "in a file"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path, wall: Wall) -> AsyncGenerator[Journal]:
    with trio.fail_after(60):
        if request.param == "in memory":
            yield MemoryJournal(wall)
            return
        async with open_journal(tmp_path / "journal.db", wall=wall) as opened:
            yield opened


async def guests(journal: Journal, *configured: Person) -> Guests:
    made = Guests(journal, configured or (ANN,))
    await made.load()
    return made


async def test_a_code_lets_in_whoever_was_given_it_once_and_survives_a_restart(journal: Journal) -> None:
    first = await guests(journal)
    code, other = await first.offer(EVE), await first.offer(EVE)
    heard: list[bool] = []
    again = await guests(journal)
    again.tell = lambda people: heard.append(people.has_paired(EVE))
    assert not again.people.has_paired(EVE)
    person = await again.pair(f" {code.lower()} ", "eve", "ann")
    assert (person.ids, person.roles, person.by, heard) == ((EVE,), (), "ann", [True])
    # The code is used up, and so is every other one of the same stranger.
    for used in (code, other):
        with pytest.raises(NotPaired, match="No such code is open"):
            await again.pair(used, "eve2", "ann")
    assert [it.name for it in (await guests(journal)).listed()] == ["ann", "eve"]


async def test_a_code_is_over_after_an_hour(journal: Journal, wall: Wall) -> None:
    made = await guests(journal)
    code = await made.offer(EVE)
    wall.now += CODE_S + 1
    with pytest.raises(NotPaired):
        await made.pair(code, "", "ann")
    fresh = await made.offer(EVE)
    assert (await made.pair(fresh, "", "ann")).name == "tg-66"


async def test_a_clock_that_is_set_back_opens_no_code_of_a_file_again(tmp_path: Path, wall: Wall) -> None:
    async with open_journal(tmp_path / "journal.db", wall=wall) as opened:
        made = await guests(opened)
        code = await made.offer(EVE)
        wall.now += CODE_S + 1
        assert await made.pairings() == ()
        wall.now -= 2 * CODE_S
        with pytest.raises(NotPaired):
            await made.pair(code, "", "ann")


async def test_codes_are_few_for_one_stranger_and_for_all_of_them(journal: Journal, wall: Wall) -> None:
    made = await guests(journal)
    assert [bool(await made.offer(EVE)) for _ in range(MOST_PAIRINGS_OF_ONE + 1)] == [True] * 3 + [False]
    for number in range(MOST_PAIRINGS - MOST_PAIRINGS_OF_ONE):
        assert await made.offer(Voter("tg", f"s{number}"))
    assert await made.offer(Voter("tg", "late")) == ""
    assert await made.offer(Voter("slack", "U1"))
    wall.now += CODE_S
    assert await made.offer(Voter("tg", "late"))


@pytest.mark.parametrize("typed", ["", "-", "AAAA-AAAA", "ABCD", "ÄÖÜ\udc80", "A" * 10_000])
async def test_what_is_no_open_code_pairs_nobody(journal: Journal, typed: str) -> None:
    made = await guests(journal)
    await made.offer(EVE)
    with pytest.raises(NotPaired):
        await made.pair(typed, "", "ann")
    assert len(made.listed()) == 1


@pytest.mark.parametrize(
    "name", ["ann", "requester", "operator", "role:ops", "a b", "x" * 65, "bob", "7", "-1001234567890", "carl", "U7"]
)
async def test_nobody_gets_the_name_and_so_the_rights_of_somebody_else(journal: Journal, name: str) -> None:
    made = await guests(journal)
    await made.add("bob", [Voter("tg", "8")], ["approver"], "operator")
    made.adopt([ANN], ("role:ops", "bob", "carl", "U7"))
    code = await made.offer(EVE)
    with pytest.raises(NotPaired):
        await made.pair(code, name, "ann")
    if name != "bob":
        with pytest.raises(NotPaired):
            await made.add(name, [EVE], (), "operator")
    # The code is open still, for another name; and an operator may say that it is bob after all.
    assert set((await made.pair(code, "bob", "operator", joins=True)).ids) == {EVE, Voter("tg", "8")}


async def test_roles_are_given_and_taken_and_who_is_removed_is_a_stranger(journal: Journal) -> None:
    made = await guests(journal)
    await made.add("bob", [Voter("tg", "8")], ["ops"], "operator")
    await made.add("bob", [Voter("slack", "U8")], (), "operator")
    assert made.people.ids(Voter("tg", "8")) == {Voter("tg", "8"), Voter("slack", "U8")}
    await made.set_roles("bob", ["approver"], "operator")
    assert not made.people.has_role(Voter("tg", "8"), "ops")
    assert made.people.has_role(Voter("slack", "U8"), "approver")
    with pytest.raises(NotPaired, match="bob has the id slack:U8"):
        await made.add("eve", [Voter("slack", "U8")], (), "operator")
    with pytest.raises(NotPaired, match="ann has the id tg:7"):
        await made.add("eve", [Voter("tg", "7")], (), "operator")
    await made.remove("bob", "operator")
    assert not made.people.has_paired(Voter("tg", "8"))
    for gone in ("bob", "ann"):
        with pytest.raises(NotPaired):
            await made.remove(gone, "operator")


async def test_the_configuration_wins_over_who_was_let_in(journal: Journal) -> None:
    made = await guests(journal)
    await made.add("bob", [Voter("tg", "8"), Voter("tg", "9")], ["approver"], "operator")
    people = made.adopt([ANN, Person("carl", (Voter("tg", "8"),))])
    assert (people.name(Voter("tg", "8")), people.name(Voter("tg", "9"))) == ("carl", "bob")
    people = made.adopt([Person("bob", (Voter("tg", "1"),))])
    assert (people.name(Voter("tg", "9")), people.has_paired(Voter("tg", "1"))) == ("", False)
    assert [(it.name, it.counts) for it in made.listed()] == [("bob", True), ("bob", False)]
