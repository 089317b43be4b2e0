"""Deciding by typing: what /approve, /deny, /pending, /grants and /revoke do and say, in whatever chat."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import trio

from hookgate.approvals.people import People, Person
from hookgate.approvals.rules import Rule
from hookgate.loop.commands.invoking import CUT_OFF
from hookgate.loop.sessions import taking_up
from hookgate.protocol.approval import Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.journal.decisions import Standing, Vote
from hookgate.protocol.journal.values import Arrival
from hookgate.store.memory import MemoryJournal
from hookgate.store.memory.decisions import Decisions
from tests.loop.recording import CHAT, OTHER, Bench, FunctionTool, asks_for, says

MakeBench = Callable[..., Bench]
RULE = Rule("sensitive", Matcher({"tools": Globs(("t",))}))


async def read(made: Bench, text: str, who: str = "ann") -> str:
    """What is answered at once, while the turn waits."""
    before = len(made.lines)
    await made.say(text, CHAT if who == "ann" else OTHER)
    return "\n".join(made.lines[before:])


async def test_who_somebody_is_is_told_to_themselves(bench: MakeBench) -> None:
    made = bench()
    ann = Person("ann", (Voter("test", "ann"), Voter("slack", "U42")), ("ops", "approver"))
    made.agent.approvals.adopt((), People((ann,)))
    async with made.opened():
        assert await read(made, "/whoami") == "You are test:ann, known as ann. Roles: ops, approver."
        assert await read(made, "/whoami", "bob") == (
            'You are test:bob. No person is listed under that: ids = ["test:bob"] below [people.NAME] makes you one.'
        )


async def test_a_call_is_decided_by_what_is_typed_while_its_turn_waits(bench: MakeBench) -> None:
    tool = FunctionTool("t")
    made = bench(asks_for("t"), says("x"), asks_for("t"), says("y"), tools=[tool], rules=[RULE])
    async with made.opened():
        assert await read(made, "/pending") == "Nothing waits for your word."
        await made.say("go")
        await made.room.asking.wait()
        [request] = made.room.asked
        short = request.id[:8]
        assert await read(made, "/pending") == f"{short} Run t? (rule:sensitive, test:1)\n  t {{}}"
        assert await read(made, "/pending", "bob") == "Nothing waits for your word."
        assert await read(made, f"/approve {short}", "bob") == "Only whoever asked for it may decide this."
        assert await read(made, f"/approve {short} forever") == (
            "'forever' is nothing that a yes can be for: once, session, 1h, always."
        )
        assert await read(made, "/approve") == "Say which one: /pending lists what waits for you."
        assert await read(made, "/approve ffffffffffffffff0") == "There is no such request."
        for shorter in (request.id[:3], "%"):
            assert await read(made, f"/approve {shorter}") == "Say more of its id: at least 4 characters."
        assert (await read(made, f"/approve {short} session")).splitlines()[0] == "Allowed."
        await made.idle()
        assert await read(made, f"/deny {short} too late") == "ann has allowed it already."
        granted = await read(made, "/grants")
        assert granted.endswith(" every t call of this conversation that rule:sensitive asks about (by ann)")
        assert await read(made, "/grants", "bob") == "Nothing is allowed for longer here."
        grant = granted.split()[0]
        assert (await read(made, f"/revoke {grant}", "bob")).startswith("There is no such thing")
        assert (await read(made, f"/revoke {grant}")).startswith("Taken back: every t call")
        made.room.asking = trio.Event()
        await made.say("again")
        await made.room.asking.wait()
        said = await read(made, f"/deny {made.room.asked[1].id} because: not on a Friday")
        assert said.splitlines()[0] == "Refused."
        await made.idle()
        assert made.results()[-1] == "Tool execution denied by approval: not on a Friday"
        stored = await made.journal.work.load(await made.journal.intake.conversation(CHAT.session_key, "main"))
        why = [it.shown for it in stored.entries if it.message.role == "tool"]
        assert why == [None, made.results()[-1]], "whoever reads it again sees that it did not run"
    assert len(tool.seen) == 1


async def test_what_somebody_decided_right_before_a_crash_counts_after_it_and_once(bench: MakeBench) -> None:
    tool = FunctionTool("t")
    before = Bench(asks_for("t"), tools=[tool], rules=[RULE])
    async with before.opened():
        await before.say("go")
        await before.room.asking.wait()
    intake, [shown] = before.journal.intake, before.room.asked
    for text, kind in ((f"/approve {shown.id}", "decision"), (f"/deny {shown.id}", "decision"), ("/old", "command")):
        await intake.accept(Arrival(Inbound(CHAT, text), "main", "", kind=kind))  # type: ignore[arg-type]
    before.journal.reopen()
    after = bench(says("x"), tools=[tool], rules=[RULE], journal=before.journal)
    async with after.opened():
        await after.idle()
    assert after.lines == ["Allowed.", "ann has allowed it already.", f"{CUT_OFF} /old", "x"]
    assert len(tool.seen) == 1
    for kind in ("decision", "command", "message"):
        assert await intake.unfinished(kind) == ()  # type: ignore[arg-type]


class Faulty(Decisions):
    """A store that is out of order for its first decisions."""

    faults = 2

    async def decide(self, request: str, vote: Vote, outbox: Sequence[Outbound] = ()) -> Standing | None:
        self.faults -= 1
        if self.faults >= 0:
            raise StoreFailed("the disk is full")
        return await super().decide(request, vote, outbox)


async def test_a_decision_that_the_store_does_not_take_is_made_once_it_does(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking_up, "FIRST_S", 0.01)
    monkeypatch.setattr(taking_up, "LONGEST_S", 0.05)
    tool, journal = FunctionTool("t"), MemoryJournal()
    journal.decisions = Faulty(journal._tables)
    made = bench(asks_for("t"), says("x"), tools=[tool], rules=[RULE], journal=journal)
    async with made.opened():
        await made.say("go")
        await made.room.asking.wait()
        with pytest.raises(StoreFailed):
            await made.say(f"/approve {made.room.asked[0].id}")
        await made.idle()
    assert (sorted(made.lines), len(tool.seen)) == (["Allowed.", "x"], 1)
    assert await journal.intake.unfinished("decision") == ()


async def test_a_decision_that_fails_when_hookgate_starts_keeps_nothing_else_waiting(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking_up, "FIRST_S", 60.0)
    tool, journal = FunctionTool("t"), MemoryJournal()
    journal.decisions = Faulty(journal._tables)
    first = Bench(asks_for("t"), tools=[tool], rules=[RULE], journal=journal)
    async with first.opened():
        await first.say("go")
        await first.room.asking.wait()
        with pytest.raises(StoreFailed):
            await first.say(f"/approve {first.room.asked[0].id}")
    journal.reopen()
    second = Bench(tools=[tool], rules=[RULE], journal=journal)
    async with second.opened():
        await second.room.asking.wait()
    journal.reopen()
    third = bench(says("x"), tools=[tool], rules=[RULE], journal=journal)
    async with third.opened():
        await third.idle()
    assert (third.lines, len(tool.seen)) == (["Allowed.", "x"], 1)
