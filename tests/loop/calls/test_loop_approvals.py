"""A person between a sensitive call and its execution: who is asked, what a grant covers; silence is a no."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import OPERATOR, Decision, Terms, Voter
from hookgate.protocol.events.payloads import ApprovalDecided, ApprovalRequested
from hookgate.protocol.hook.answers import CONTINUE, Answer, Approve, Ask, Deny, Modify, Refuse, Respond
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.journal.values import CallState, Conversation
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.providers.scripted import ScriptedCall
from tests.loop.recording import CHAT, OBJECT, OTHER, Bench, FunctionTool, asks_for, hook, says

MakeBench = Callable[..., Bench]

RULE = Rule("sensitive", Matcher({"tools": Globs(("t",))}))
YES = Decision(True, "ann")
FOR_SESSION = Decision(True, "ann", grant="session")
NO = Decision(False, "ann", "not today")


def call(text: str) -> ScriptedCall:
    return ScriptedCall("t", {"text": text})


async def test_a_rule_has_a_person_asked_about_the_very_call_that_then_runs(bench: MakeBench) -> None:
    tool = FunctionTool("t")
    rewrite = hook("h", {Stage.BEFORE_TOOL: Modify({"arguments": {"text": "safe"}})})
    made = bench(asks_for(call("rash")), says("x"), tools=[tool], rules=[RULE], hooks=[rewrite])
    made.room.answers = [YES]
    await made.play()
    [request] = made.room.asked
    assert request.call.arguments == {"text": "safe"}
    assert tool.seen == [request.call]
    assert (request.asked_by, request.title, request.chat) == ("rule:sensitive", "Run t?", CHAT)
    assert made.payloads(ApprovalRequested) == [
        ApprovalRequested(request.id, "t", "rule:sensitive", "Run t?", 600.0, request.digest)
    ]
    assert made.payloads(ApprovalDecided) == [
        ApprovalDecided(request.id, "t", True, "ann", request.digest, None, "once")
    ]


async def test_a_refused_call_never_runs(bench: MakeBench) -> None:
    tool = FunctionTool("t")
    made = bench(asks_for("t"), says("x"), tools=[tool], rules=[RULE])
    made.room.answers = [NO]
    await made.play()
    assert tool.seen == []
    assert made.results() == ["Tool execution denied by approval: not today"]
    assert made.agent.tally.denied == 1
    [decided], [request] = made.payloads(ApprovalDecided), made.room.asked
    assert decided == ApprovalDecided(request.id, "t", False, "ann", request.digest, "not today", None)


async def test_a_rule_that_gives_way_to_a_hook_still_asks_about_a_call_that_the_hook_has_not_judged(
    bench: MakeBench,
) -> None:
    tool, refuses = FunctionTool("t"), hook("new", {Stage.APPROVE_TOOL: Refuse("never")})

    async def reloads(_question: Question) -> Answer:
        made.agent.gate.mount([refuses])
        made.agent.approvals.adopt([])
        await trio.lowlevel.checkpoint()
        return Approve()

    hooks = [hook("old", {Stage.APPROVE_TOOL: reloads})]
    made = bench(asks_for("t"), says("x"), tools=[tool], rules=[RULE], hooks=hooks)
    made.room.answers = [NO]
    await made.play()
    assert tool.seen == []
    assert made.results() == ["Tool execution denied by approval: not today"]


@pytest.mark.parametrize("asked", ["by a rule", "by a hook"])
async def test_an_answer_that_does_not_come_in_time_is_a_no(
    bench: MakeBench, autojump_clock: MockClock, asked: str
) -> None:
    tool = FunctionTool("t")
    rules = [Rule("slow", ttl_s=5.0)] if asked == "by a rule" else []
    hooks = [hook("h", {Stage.APPROVE_TOOL: Ask(ttl_s=5.0)})] if asked == "by a hook" else []
    made = bench(asks_for("t"), says("x"), tools=[tool], rules=rules, hooks=hooks)
    before = trio.current_time()
    await made.play()
    assert trio.current_time() - before == pytest.approx(5.0, abs=0.5)
    assert tool.seen == []
    assert made.results() == ["Tool execution denied by approval: nobody answered within 5 s"]


async def test_a_silence_that_ends_the_turn_has_refused_the_call(bench: MakeBench, autojump_clock: MockClock) -> None:
    tool = FunctionTool("t")
    made = bench(asks_for("t"), tools=[tool], rules=[Rule("slow", ttl_s=5.0, terms=Terms(on_expiry="stop"))])
    said = await made.play()
    assert said == ["t needs an approval, and nobody answered within 5 s: the turn ends here"]
    assert (tool.seen, made.agent.tally.denied, made.agent.tally.balanced) == ([], 1, True)


@pytest.mark.parametrize(
    ("answers", "ran", "asked"),
    [([YES, YES], 2, 2), ([FOR_SESSION], 2, 1), ([NO, FOR_SESSION], 1, 2)],
)
async def test_a_grant_covers_one_call_or_the_conversation(
    bench: MakeBench, answers: list[Decision], ran: int, asked: int
) -> None:
    tool = FunctionTool("t")
    made = bench(asks_for("t"), asks_for("t"), says("x"), tools=[tool], rules=[RULE])
    made.room.answers = answers
    await made.play()
    assert (len(tool.seen), len(made.room.asked)) == (ran, asked)


async def test_a_grant_counts_neither_elsewhere_nor_after_new(bench: MakeBench) -> None:
    made = bench(*[asks_for("t"), says("x")] * 3, tools=[FunctionTool("t")], rules=[RULE])
    made.room.answers = [FOR_SESSION] * 3
    async with made.opened():
        for text, chat in (("one", CHAT), ("two", OTHER), ("/new", CHAT), ("three", CHAT)):
            await made.say(text, chat)
            await made.idle(chat)
    assert len(made.room.asked) == 3


async def test_a_grant_for_one_who_asks_is_none_for_another(bench: MakeBench) -> None:
    """The rule's question was answered for the whole conversation; the hook's is still open."""
    asker = hook("h", {Stage.APPROVE_TOOL: Ask("Really?", "it is live")})
    made = bench(asks_for("t"), asks_for("t"), says("x"), tools=[FunctionTool("t")], rules=[RULE], hooks=[asker])
    made.room.answers = [FOR_SESSION, YES, YES]
    await made.play()
    assert [request.asked_by for request in made.room.asked] == ["rule:sensitive", "hook:h", "hook:h"]
    assert (made.room.asked[1].title, made.room.asked[1].text) == ("Really?", "it is live")


async def test_every_call_is_another_request(bench: MakeBench) -> None:
    """The digest binds an approval to this very call, though another has the same arguments."""
    script = [asks_for(call("a")), asks_for(call("b")), asks_for(call("a")), says("x")]
    made = bench(*script, asks_for(call("a")), says("x"), tools=[FunctionTool("t")], rules=[RULE])
    made.room.answers = [YES] * 4
    async with made.opened():
        await made.say("one")
        await made.idle()
        await made.say("two", OTHER)
        await made.idle(OTHER)
    assert len({request.digest for request in made.room.asked}) == len(made.room.asked) == 4
    assert len({request.id for request in made.room.asked}) == 4


async def test_a_hook_that_refuses_is_final_and_nobody_is_asked(bench: MakeBench) -> None:
    hooks = [hook("asker", {Stage.APPROVE_TOOL: Ask()}), hook("strict", {Stage.APPROVE_TOOL: Refuse("no deploys")})]
    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t")], rules=[RULE], hooks=hooks)
    await made.play()
    assert made.room.asked == []
    assert made.results() == ["Tool execution denied by approval hook: no deploys"]


async def test_a_hook_that_approves_does_not_satisfy_a_rule(bench: MakeBench) -> None:
    approver = hook("lenient", {Stage.APPROVE_TOOL: Approve()})
    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t")], rules=[RULE], hooks=[approver])
    made.room.answers = [NO]
    await made.play()
    assert made.results() == ["Tool execution denied by approval: not today"]


async def test_an_approver_that_fails_refuses(bench: MakeBench) -> None:
    async def crash(_question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        raise RuntimeError("x")

    tool = FunctionTool("t")
    made = bench(asks_for("t"), says("x"), tools=[tool], hooks=[hook("bad", {Stage.APPROVE_TOOL: crash})])
    await made.play()
    assert tool.seen == []
    assert made.results()[0].startswith("Tool execution denied by approval hook: hook bad failed at approve_tool")


@pytest.mark.parametrize(
    ("trusted", "decisions", "told", "asked"),
    [
        (False, [YES], "cached", 1),
        (False, [NO], "Tool execution denied by approval: not today", 1),
        (True, [], "cached", 0),
    ],
)
async def test_a_hook_that_answers_for_a_ruled_tool_has_the_person_asked_unless_it_is_trusted(
    bench: MakeBench, trusted: bool, decisions: list[Decision], told: str, asked: int
) -> None:
    cache = hook("cache", {Stage.BEFORE_TOOL: Respond(ToolResult("cached"))}, may_respond_unapproved=trusted)
    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t")], rules=[RULE], hooks=[cache])
    made.room.answers = list(decisions)
    await made.play()
    assert made.results() == [told]
    assert len(made.room.asked) == asked


async def test_a_rule_covers_an_injected_tool_too(bench: MakeBench) -> None:
    offer = Modify({"tools": (ToolSpec("t", "", OBJECT, provider=""),)})
    owner = hook("h", {Stage.BEFORE_LLM: offer, Stage.BEFORE_TOOL: Respond(ToolResult("answered"))})
    made = bench(asks_for("t"), says("x"), hooks=[owner], rules=[RULE])
    made.room.answers = [NO]
    await made.play()
    assert made.results() == ["Tool execution denied by approval: not today"]


async def test_while_one_conversation_waits_for_a_person_another_goes_on(bench: MakeBench) -> None:
    made = bench(asks_for("t"), says("hello"), tools=[FunctionTool("t")], rules=[RULE])
    async with made.opened():
        await made.say("one")
        await made.room.asking.wait()
        await made.say("two", OTHER)
        await made.idle(OTHER)
        assert made.lines == ["hello"]
        await made.say("/stop")
        await made.idle()


@pytest.mark.parametrize("rules", [[RULE], []], ids=["a rule", "a hook"])
async def test_while_a_call_waits_for_a_person_it_holds_no_lease_of_the_workspace(
    bench: MakeBench, rules: list[Rule]
) -> None:
    script = [asks_for("t"), asks_for("u"), says("written")]
    asker = hook("h", {Stage.APPROVE_TOOL: Ask()}, match=Matcher({"tools": Globs(("t",))}))
    writes = FunctionTool("u")
    made = bench(*script, tools=[FunctionTool("t"), writes], rules=rules, hooks=[] if rules else [asker])
    async with made.opened():
        await made.say("one")
        await made.room.asking.wait()
        await made.say("two", OTHER)
        await made.idle(OTHER)
        assert (len(writes.seen), made.lines) == (1, ["written"])
        await made.say("/stop")
        await made.idle()


async def test_whoever_decides_first_decides_wherever_they_are(bench: MakeBench) -> None:
    tool = FunctionTool("t")
    made = bench(asks_for("t"), says("x"), tools=[tool], rules=[RULE])
    approvals = made.agent.approvals
    async with made.opened():
        await made.say("go")
        await made.room.asking.wait()
        [waiting] = await approvals.pending()
        other = await approvals.decide(waiting.id, YES, Voter("test", "bob"))
        first = await approvals.decide(waiting.id, YES, Voter("test", "ann"))
        late = await approvals.decide(waiting.id, NO, OPERATOR)
        await made.idle()
        used = await approvals.decide(waiting.id, NO, OPERATOR)
    assert [it.counted for it in (other, first, late, used)] == [False, True, False, False]
    assert late.text == used.text == "ann has allowed it already."
    assert (len(tool.seen), used.state) == (1, "spent")


async def test_an_approved_call_is_on_record_before_it_runs_and_with_what_it_came_to(bench: MakeBench) -> None:
    states: list[CallState] = []

    async def look(_call: ToolCall) -> str:
        states.extend(await recorded(made))
        return "looked"

    async def look_again(_question: Question) -> Answer:
        states.extend(await recorded(made))
        return CONTINUE

    after = hook("h", {Stage.AFTER_TOOL: look_again})
    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t", look)], hooks=[after], rules=[RULE])
    made.room.answers = [YES]
    await made.play()
    before, state = states
    assert before == CallState(intended=True)
    assert (state.intended, state.result) == (True, ToolResult("looked"))
    assert await recorded(made) == []


async def recorded(made: Bench) -> list[CallState]:
    stored = await made.journal.work.load(Conversation(CHAT.session_key, "main"))
    return [state for _, state in stored.calls]


async def test_a_turn_that_is_stopped_leaves_no_question_behind(bench: MakeBench) -> None:
    made = bench(asks_for("t"), tools=[FunctionTool("t")], rules=[RULE])
    approvals = made.agent.approvals
    async with made.opened():
        await made.say("go")
        await made.room.asking.wait()
        [waiting] = await approvals.pending(CHAT.session_key)
        await made.say("/stop")
        await made.idle()
        assert await approvals.pending() == ()
        became = await approvals.decide(waiting.id, YES, OPERATOR)
    assert (became.counted, became.text) == (False, "It is too late: the turn was stopped.")
    assert made.lines == ["Stopped."]


async def test_a_question_outlives_an_orderly_shutdown_and_its_old_button_runs_the_call_once(
    bench: MakeBench,
) -> None:
    tool = FunctionTool("t")
    before = Bench(asks_for("t"), tools=[tool], rules=[RULE])
    async with before.opened():
        await before.say("go")
        await before.room.asking.wait()
    [shown] = before.room.asked
    before.journal.reopen()
    after = bench(says("x"), tools=[tool], rules=[RULE], journal=before.journal)
    async with after.opened():
        await after.room.asking.wait()
        assert [it.id for it in after.room.asked] == [shown.id]
        assert (await after.agent.approvals.decide(shown.id, YES, OPERATOR)).counted
        await after.idle()
        assert not (await after.agent.approvals.decide(shown.id, YES, OPERATOR)).counted
    assert (len(tool.seen), after.lines) == (1, ["Run t? ann has allowed it.", "x"])


async def test_a_call_that_a_crash_has_left_is_asked_about_as_the_one_of_the_model_that_made_it(
    bench: MakeBench,
) -> None:
    begun, tool = trio.Event(), FunctionTool("t")

    async def hang(_call: ToolCall) -> str:
        begun.set()
        await trio.sleep_forever()
        return ""

    chooses = hook("chooses", {Stage.BEFORE_LLM: Modify({"model": "p/big"})})
    rule = Rule("big", Matcher({"tools": Globs(("t",)), "models": Globs(("p/big",))}))
    parts: dict[str, Any] = {"hooks": [chooses], "rules": [rule], "tools": [FunctionTool("slow", hang), tool]}
    before = Bench(asks_for("slow", "t"), **parts)
    async with before.opened():
        await before.say("go")
        await begun.wait()
    before.journal.reopen()
    after = bench(says("x"), journal=before.journal, **parts)
    async with after.opened():
        await after.room.asking.wait()
        [request] = after.room.asked
        assert (request.asked_by, tool.seen) == ("rule:big", [])
        await after.say(f"/deny {request.id}")
        await after.idle()
    assert tool.seen == []


async def test_a_rule_that_only_moves_leaves_the_open_question_and_one_that_changes_has_the_call_judged_again(
    bench: MakeBench,
) -> None:
    judged = list[str]()

    async def note(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        judged.append(question.tool)
        return CONTINUE

    other, tool = Rule("other", Matcher({"tools": Globs(("u",))})), FunctionTool("t")
    hooks = [hook("h", {Stage.BEFORE_TOOL: note})]
    made = bench(asks_for("t"), says("x"), tools=[tool], rules=[RULE, other], hooks=hooks)
    approvals = made.agent.approvals
    async with made.opened():
        await made.say("go")
        await made.room.asking.wait()
        assert not approvals.adopt([other, replace(RULE, name="moved")])
        await trio.testing.wait_all_tasks_blocked()
        assert (len(made.room.asked), len(await approvals.pending())) == (1, 1)
        made.room.answers = [YES]
        assert approvals.adopt([replace(RULE, ttl_s=7.0)])
        await made.idle()
    assert [request.ttl_s for request in made.room.asked] == [600.0, 7.0]
    assert (judged, len(tool.seen), made.agent.tally.calls) == (["t", "t"], 1, 1)
    first = await approvals.decide(made.room.asked[0].id, YES, OPERATOR)
    assert first.text == "It is too late: the rules for it have changed."


async def test_what_was_allowed_does_not_run_where_the_rules_change_before_it_begins(bench: MakeBench) -> None:
    """Of two calls that read, the first is allowed already while a person thinks about the second."""
    tools = [FunctionTool("t", reads_only=True), FunctionTool("u", reads_only=True)]
    made = bench(asks_for("t", "u"), says("x"), tools=tools, rules=[RULE])
    asker = hook("h", {Stage.APPROVE_TOOL: Ask()}, match=Matcher({"tools": Globs(("u",))}))
    made.agent.gate.mount([asker])
    made.room.answers = [YES]
    async with made.opened():
        await made.say("go")
        while len(made.room.asked) < 2:
            await trio.testing.wait_all_tasks_blocked()
        made.agent.approvals.adopt([replace(RULE, ttl_s=7.0)])
        [waiting] = await made.agent.approvals.pending()
        await made.agent.approvals.decide(waiting.id, YES, OPERATOR)
        await made.idle()
    assert made.results() == ["Tool execution denied by approval: the rules for it have changed", "u ran"]
    assert made.agent.tally.balanced


async def test_a_rule_that_comes_while_another_call_is_parked_is_asked_before_a_call_without_one_runs(
    bench: MakeBench,
) -> None:
    """Of two calls that read, the first is ready already while a person thinks about the second."""
    free, parked = FunctionTool("u", reads_only=True), FunctionTool("t", reads_only=True)
    made = bench(asks_for("u", "t"), asks_for("u"), says("x"), tools=[free, parked], rules=[RULE])
    async with made.opened():
        await made.say("go")
        await made.room.asking.wait()
        made.agent.approvals.adopt([RULE, Rule("new", Matcher({"tools": Globs(("u",))}))])
        made.room.answers = [NO]
        [waiting] = await made.agent.approvals.pending()
        await made.agent.approvals.decide(waiting.id, YES, OPERATOR)
        await made.idle()
    changed, ran, again = made.results()
    assert (changed, ran) == ("Tool execution denied by approval: the rules for it have changed", "t ran")
    assert (again, free.seen) == ("Tool execution denied by approval: not today", [])
    assert made.agent.tally.balanced


async def test_a_hook_that_comes_while_a_call_is_parked_and_has_nothing_against_it_needs_no_second_yes(
    bench: MakeBench,
) -> None:
    tool, guard = FunctionTool("t"), hook("guard", {Stage.BEFORE_TOOL: CONTINUE, Stage.APPROVE_TOOL: Approve()})
    made = bench(asks_for("t"), says("x"), tools=[tool], rules=[RULE])
    async with made.opened():
        await made.say("go")
        await made.room.asking.wait()
        made.agent.gate.mount([guard])
        [waiting] = await made.agent.approvals.pending()
        await made.agent.approvals.decide(waiting.id, YES, OPERATOR)
        await made.idle()
    assert (len(tool.seen), len(made.room.asked), made.agent.gate.stats["guard"].calls) == (1, 1, 2)
    assert (made.agent.tally.calls, made.agent.tally.balanced) == (1, True)


@pytest.mark.parametrize("stage", [Stage.BEFORE_TOOL, Stage.APPROVE_TOOL])
@pytest.mark.parametrize("answered", [False, True])
async def test_a_hook_that_comes_while_a_call_is_parked_judges_it_before_it_runs(
    bench: MakeBench, stage: Stage, answered: bool
) -> None:
    tool, cache = FunctionTool("t"), hook("cache", {Stage.BEFORE_TOOL: Respond(ToolResult("cached"))})
    hooks = [cache] if answered else []
    made = bench(asks_for("t"), says("x"), tools=[tool], rules=[RULE], hooks=hooks)
    # Before the one that answers, after which nobody is asked.
    guard = hook("a guard", {stage: Deny("no") if stage is Stage.BEFORE_TOOL else Refuse("no")})
    async with made.opened():
        await made.say("go")
        await made.room.asking.wait()
        made.agent.gate.mount([guard, *hooks])
        [waiting] = await made.agent.approvals.pending()
        await made.agent.approvals.decide(waiting.id, YES, OPERATOR)
        await made.idle()
    # What a hook answers is no execution, and no approver is asked about it.
    kept = answered and stage is Stage.APPROVE_TOOL
    assert (made.results() == ["cached"]) is kept
    assert kept or made.agent.tally.denied == 1
    assert (tool.seen, len(made.room.asked), made.agent.tally.balanced) == ([], 1, True)


async def test_a_hook_that_comes_while_another_call_is_parked_stops_the_calls_that_it_covers_only(
    bench: MakeBench,
) -> None:
    tools = [FunctionTool(name, reads_only=True) for name in ("u", "v", "t")]
    made = bench(asks_for("u", "v", "t"), says("x"), tools=tools, rules=[RULE])
    guard = hook("guard", {Stage.BEFORE_TOOL: CONTINUE}, match=Matcher({"tools": Globs(("u",))}))
    async with made.opened():
        await made.say("go")
        await made.room.asking.wait()
        made.agent.gate.mount([guard])
        [waiting] = await made.agent.approvals.pending()
        await made.agent.approvals.decide(waiting.id, YES, OPERATOR)
        await made.idle()
    changed = "Tool execution denied by approval: the rules for it have changed"
    assert made.results() == [changed, "v ran", "t ran"]
    assert made.agent.tally.balanced


async def test_a_new_process_of_the_same_hook_refuses_no_call_and_asks_nobody_again(bench: MakeBench) -> None:
    asked = list[str]()

    async def note(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        asked.append(question.tool)
        return CONTINUE

    tools = [FunctionTool(name, reads_only=True) for name in ("u", "t")]
    made = bench(
        asks_for("u", "t"), says("x"), tools=tools, rules=[RULE], hooks=[hook("h", {Stage.BEFORE_TOOL: note})]
    )
    async with made.opened():
        await made.say("go")
        await made.room.asking.wait()
        made.agent.gate.mount([hook("h", {Stage.BEFORE_TOOL: note})])
        [waiting] = await made.agent.approvals.pending()
        await made.agent.approvals.decide(waiting.id, YES, OPERATOR)
        await made.idle()
    assert (made.results(), asked, len(made.room.asked)) == (["u ran", "t ran"], ["u", "t"], 1)
