"""A stranger is given a code in a chat, somebody who may lets them in there, and they are put out again."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import trio

from hookgate.approvals.people import Person
from hookgate.loop.doors.door import Door
from hookgate.loop.doors.doors import SHUT_OUT, STRANGER, Doors
from hookgate.loop.doors.guests import Guests
from hookgate.loop.doors.pairing import NOT_YOURS, WHICH
from hookgate.protocol.approval import Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.people import StoredPerson
from hookgate.store.memory import MemoryJournal
from tests.loop.recording import Bench, FunctionTool, asks_for, says

MakeBench = Callable[..., Bench]
ANN = Person("ann", (Voter("test", "7"),), ("operator",))
BOB = Person("bob", (Voter("test", "8"),), ("approver",))
ANNS, BOBS, EVES = Chat("test", "7", "7"), Chat("test", "8", "8"), Chat("test", "66", "66")


async def house(make: MakeBench, *steps: object, **parts: object) -> tuple[Bench, Guests]:
    journal, doors = MemoryJournal(), Doors()
    guests = Guests(journal, [ANN, BOB])
    doors.adopt({"test": Door(("ann", "bob"), pairing=True)}, guests.people)
    made = make(*steps, journal=journal, doors=doors, guests=guests, **parts)

    guests.tell = doors.know
    return made, guests


async def test_a_stranger_comes_in_by_a_code_that_an_operator_types(bench: MakeBench) -> None:
    made, _guests = await house(bench, says("welcome"))
    async with made.opened():
        await made.say("hello", EVES)
        [invited] = made.lines
        found = re.fullmatch(re.escape(STRANGER) + r" Show them this code: (\w{4}-\w{4})\. .*", invited)
        assert found is not None
        code = found[1]
        # Whoever has no such right learns nothing, the stranger not even that there is such a command.
        await made.say(f"/pair {code}", BOBS)
        await made.say(f"/pair {code}", EVES)
        await made.say("/pair", ANNS)
        assert made.lines[1:] == [NOT_YOURS, WHICH]
        await made.say(f"/pair {code} eve", ANNS)
        await made.say(f"/pair {code} eve", ANNS)
        assert made.lines[3] == "eve (test:66) may talk here now."
        assert made.lines[4].startswith("No such code is open")
        await made.say("hello again", EVES)
        await made.idle(EVES)
    assert made.lines[5:] == ["welcome"]


async def test_a_stranger_whose_code_could_not_be_stored_gets_it_when_the_message_is_repeated(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, guests = await house(bench)

    async def full(*_given: object) -> bool:
        raise StoreFailed("the disk is full")

    async with made.opened():
        with monkeypatch.context() as patched:
            patched.setattr(made.journal.people, "offer", full)
            with pytest.raises(StoreFailed):
                await made.gateway.receive(Inbound(EVES, "hello", (), "m1"))
        await made.gateway.receive(Inbound(EVES, "hello", (), "m1"))
        await made.gateway.delivery.idle()
    [open_] = await guests.pairings()
    assert [f"{open_.code[:4]}-{open_.code[4:]}" in line for line in made.lines] == [True]


async def test_a_guest_who_was_called_like_the_id_of_somebody_else_has_none_of_their_rights(bench: MakeBench) -> None:
    made, guests = await house(bench)
    code = await guests.offer(Voter("test", "66"))
    # As an earlier version has let them in.
    await made.journal.people.keep(StoredPerson("9", (Voter("test", "99"),), (), "ann", 1.0), "ann")
    await guests.load()
    async with made.opened():
        await made.say(f"/pair {code} 7", ANNS)
    assert made.lines == ["7 reads as an id: choose another name."]
    assert guests.people.deciders(("7", "9"), ANNS, self_approval=True) == {Voter("test", "7"), Voter("test", "9")}


async def test_codes_that_an_operator_guesses_are_limited(bench: MakeBench) -> None:
    made, guests = await house(bench)
    code = await guests.offer(Voter("test", "66"))
    async with made.opened():
        for _ in range(20):
            await made.say("/pair AAAA-AAAA", ANNS)
        await made.say(f"/pair {code}", ANNS)
    assert made.lines[-1].startswith("Too many codes at once")
    assert len(guests.listed()) == 2


async def test_whoever_is_put_out_gets_no_answer_to_what_runs_and_what_waits(bench: MakeBench) -> None:
    begun = trio.Event()

    async def work(_call: object) -> str:
        begun.set()
        await trio.sleep_forever()
        raise AssertionError

    made, guests = await house(bench, asks_for("work"), says("never"), tools=[FunctionTool("work", work)])
    await guests.add("eve", [Voter("test", "66")], (), "ann")
    async with made.opened():
        await made.gateway.receive(Inbound(EVES, "work"))
        await begun.wait()
        waits = await made.gateway.receive(Inbound(EVES, "and more"))
        await guests.remove("eve", "ann")
        await made.idle(EVES)
        late = await made.gateway.receive(Inbound(EVES, "still there?"))
    assert [await end(made, it.id) for it in (waits, late)] == [("refused", SHUT_OUT), ("refused", "a stranger")]
    assert "never" not in made.lines
    assert len(made.provider.requests) == 1


async def end(made: Bench, message: str) -> tuple[str, str]:
    [found] = await made.journal.books.where(message)
    passed = [it for it in found.passages if it.what == "refused"]
    return passed[-1].what, passed[-1].why
