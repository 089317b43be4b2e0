"""The walk over hooks: who is asked, in which order, about what, and how an answer ends it."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from hookgate.hooks.gate import Answered, Denied, Gate
from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Policy, Rules
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.errors import SessionAborted, TurnAborted
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import CallDecided, CompactionEnded, FailedOpen, PersonAsked
from hookgate.protocol.events.payloads import HookFailed, HookModified, ToolExecSkipped
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer, Approve, Deny, Failed, Modify, Respond
from hookgate.protocol.hook.hello import Hello
from hookgate.protocol.hook.match import Observed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Finished, LLMReply, Step, ToolCall, ToolResult
from hookgate.redaction import Redactor
from tests.hooks.doubles import CALL, CHAT, REQUEST, STEP, Asked, gate_of, hook, matching, never, sink

FINISHED = Finished(CALL, ToolResult("out", "shown"), 5)
INTERCEPTORS = [stage for stage in Stage if stage is not Stage.APPROVE_TOOL]


async def _pass(gate_mounts: list[Mount], stage: Stage) -> object:
    gate = gate_of(*gate_mounts)
    match stage:
        case Stage.ON_MESSAGE:
            return await gate.on_message(STEP)
        case Stage.BEFORE_SEND:
            return await gate.before_send(STEP, Outbound(CHAT, "hi"))
        case Stage.BEFORE_LLM:
            return await gate.before_llm(STEP, REQUEST)
        case Stage.AFTER_LLM:
            return await gate.after_llm(STEP, LLMReply("openai/gpt", "hi"))
        case Stage.BEFORE_TOOL:
            return await gate.before_tool(STEP, CALL)
        case Stage.APPROVE_TOOL:
            return await gate.approve_tool(STEP, CALL)
        case Stage.AFTER_TOOL:
            return await gate.after_tool(STEP, FINISHED)


# --- order ---


@pytest.mark.parametrize("order", list(permutations(range(5)))[::17])
async def test_guards_come_first_then_priority_then_name(order: tuple[int, ...]) -> None:
    asked = Asked()
    mounts = [
        hook("z-inside", asked.saying("z-inside"), rules=Rules(priority=99, inside=True)),
        hook("late", asked.saying("late"), rules=Rules(priority=10)),
        hook("b", asked.saying("b")),
        hook("a", asked.saying("a")),
        hook("early", asked.saying("early"), rules=Rules(priority=-5)),
    ]
    await gate_of(*(mounts[i] for i in order)).before_tool(STEP, CALL)
    assert asked.names == ["z-inside", "early", "a", "b", "late"]


@pytest.mark.parametrize("stage", INTERCEPTORS)
async def test_each_hook_sees_what_its_predecessor_left(stage: Stage) -> None:
    asked = Asked()
    changes = {
        Stage.ON_MESSAGE: {"text": "changed"},
        Stage.BEFORE_SEND: {"text": "changed"},
        Stage.BEFORE_LLM: {"options": {"n": 1}},
        Stage.AFTER_LLM: {"content": "changed"},
        Stage.BEFORE_TOOL: {"arguments": {"n": 1}},
        Stage.AFTER_TOOL: {"for_llm": "changed"},
    }[stage]
    mounts = [hook("a", asked.saying("a", Modify(changes)), stage), hook("b", asked.saying("b"), stage)]
    await _pass(mounts, stage)
    first, second = (question for _, question in asked.questions)
    assert first.subject != second.subject
    assert b"changed" in second.params or b'"n":1' in second.params
    assert second.step is STEP


async def test_before_tool_rewrites_and_after_tool_prefixes() -> None:
    asked = Asked()

    def prefix(question: Question) -> Answer:
        assert isinstance(question.subject, Finished)
        return Modify({"for_llm": f"after:{question.subject.result.for_llm}"})

    gate = gate_of(
        hook("rewrite", asked.saying("rewrite", Modify({"arguments": {"command": "modified"}}))),
        hook("prefix", asked.saying("prefix", prefix), Stage.AFTER_TOOL),
    )
    allowed = await gate.before_tool(STEP, CALL)
    assert isinstance(allowed, ToolCall)
    ran = ToolResult(str(allowed.arguments["command"]), "shown")
    result = await gate.after_tool(STEP, Finished(allowed, ran, 1))
    assert (result.for_llm, result.for_user) == ("after:modified", "shown")


# --- the ends of a walk ---


async def test_respond_ends_the_chain_with_its_result() -> None:
    asked = Asked()
    gate = gate_of(
        hook("a", asked.saying("a", Modify({"arguments": {"n": 1}}))),
        hook("cache", asked.saying("cache", Respond(ToolResult("cached"))), rules=Rules(priority=1)),
        hook("late", asked.saying("late", Deny("no")), rules=Rules(priority=2)),
    )
    answered = await gate.before_tool(STEP, CALL)
    judged = replace(CALL, arguments={"n": 1})
    assert answered == Answered(judged, judged, ToolResult("cached"), "cache", False)
    assert asked.names == ["a", "cache"]


async def test_a_call_beside_respond_changes_the_record_alone() -> None:
    answer = Respond(ToolResult("x"), {"name": "other", "arguments": {"n": 2}})
    rules = Rules(may_respond_unapproved=True)
    answered = await gate_of(hook("h", Asked().saying("h", answer), rules=rules)).before_tool(STEP, CALL)
    recorded = replace(CALL, name="other", arguments={"n": 2})
    assert answered == Answered(CALL, recorded, ToolResult("x"), "h", unapproved=True)


async def test_deny_tool_ends_the_chain_and_tells_the_model_why() -> None:
    asked = Asked()
    gate = gate_of(hook("a", asked.saying("a", Deny("no rm"))), hook("b", asked.saying("b")))
    denied = await gate.before_tool(STEP, CALL)
    assert isinstance(denied, Denied)
    assert denied.result.for_llm == "Tool execution denied by hook: no rm"
    assert denied.result.error is not None
    assert denied.result.error.denied_by == "hook:a"
    assert asked.names == ["a"]


@pytest.mark.parametrize("stage", INTERCEPTORS[:-1])
@pytest.mark.parametrize(("hard", "error"), [(False, TurnAborted), (True, SessionAborted)])
async def test_an_abort_ends_the_chain_and_names_the_hook(stage: Stage, hard: bool, error: type[TurnAborted]) -> None:
    asked = Asked()
    abort = asked.saying("a", Abort("enough", hard=hard))
    with pytest.raises(error, match=f"a .* at {stage}: enough") as caught:
        await _pass([hook("a", abort, stage), hook("b", asked.saying("b"), stage)], stage)
    assert asked.names == ["a"]
    assert (type(caught.value), caught.value.hook) == (error, "a")


async def test_an_abort_of_the_hooks_own_is_told_as_one_whatever_its_reason_says() -> None:
    failure = "hook a failed at before_llm: no licence"
    rules = Rules(on_failure={Stage.BEFORE_LLM: "abort"})
    for answer, told in (
        (Abort(failure), f"hook a aborted the turn at before_llm: {failure}"),
        (Failed("no licence"), f"{failure}; the turn ends"),
    ):
        judge = Asked().saying("a", answer)
        with pytest.raises(TurnAborted) as caught:
            await gate_of(hook("a", judge, Stage.BEFORE_LLM, rules=rules)).before_llm(STEP, REQUEST)
        assert (str(caught.value), caught.value.reason) == (told, failure)


# --- matching ---


async def test_a_hook_that_does_not_match_is_not_asked() -> None:
    asked = Asked()
    gate = gate_of(
        hook("slack", asked.saying("slack", Deny("no")), rules=Rules(match=matching(channels="slack"))),
        hook("tool", asked.saying("tool", Deny("no")), rules=Rules(match=matching(tools="read"))),
        hook("off", asked.saying("off", Deny("no")), rules=Rules(mode="off")),
        hook("stage", asked.saying("stage", Deny("no")), Stage.AFTER_TOOL),
        hook("all", asked.saying("all")),
    )
    assert await gate.before_tool(STEP, CALL) == CALL
    assert asked.names == ["all"]


async def test_a_rename_cannot_slip_past_a_guard() -> None:
    asked = Asked()
    guard = hook("a-guard", asked.saying("a-guard", Deny("no bash")), rules=Rules(match=matching(tools="bash")))
    rename = hook("rename", asked.saying("rename", Modify({"name": "bash"})))
    denied = await gate_of(guard, rename).before_tool(STEP, replace(CALL, name="read"))
    assert isinstance(denied, Denied)
    assert denied.call.name == "bash"
    assert asked.names == ["rename", "a-guard"]


async def test_two_hooks_that_rename_in_turn_are_each_asked_once() -> None:
    asked = Asked()
    to = {"bash": "read", "read": "bash"}
    gate = gate_of(*(hook(n, asked.saying(n, lambda q: Modify({"name": to[q.tool]}))) for n in ("a", "b", "c")))
    allowed = await gate.before_tool(STEP, CALL)
    assert isinstance(allowed, ToolCall)
    assert (allowed.name, asked.names) == ("read", ["a", "b", "c"])


def _arguments(question: Question) -> object:
    return question.subject.arguments if isinstance(question.subject, ToolCall) else None


@pytest.mark.parametrize(
    "change", [{"arguments": {"command": "rm"}}, {"name": "bash", "arguments": {"command": "rm"}}]
)
async def test_own_guards_judge_again_what_hooks_made_of_a_call(change: dict[str, Any]) -> None:
    asked = Asked()
    own = Rules(inside=True)
    no_rm = asked.saying("own", lambda q: Deny("no") if _arguments(q) == {"command": "rm"} else CONTINUE)
    gate = gate_of(hook("own", no_rm, rules=own), hook("changes", asked.saying("changes", Modify(change))))
    denied = await gate.before_tool(STEP, replace(CALL, name="read", arguments={}))
    assert isinstance(denied, Denied)
    assert denied.call.arguments == {"command": "rm"}
    assert asked.names == ["own", "changes", "own"]


async def test_a_gate_without_hooks_lets_calls_pass() -> None:
    assert await Gate().before_tool(STEP, CALL) == CALL


async def test_own_guards_are_asked_once_about_a_call_that_nobody_changes() -> None:
    asked = Asked()
    gate = gate_of(hook("own", asked.saying("own"), rules=Rules(inside=True)), hook("other", asked.saying("other")))
    assert await gate.before_tool(STEP, CALL) == CALL
    assert asked.names == ["own", "other"]


async def test_own_guards_that_have_seen_the_call_as_it_is_are_not_asked_again_and_the_others_are() -> None:
    asked, own = Asked(), Rules(inside=True)
    renamed = replace(own, match=matching(tools="bash"))
    gate = gate_of(
        hook("a", asked.saying("a"), rules=renamed),
        hook("b", asked.saying("b"), rules=own),
        hook("rename", asked.saying("rename", Modify({"name": "bash"}))),
    )
    assert isinstance(await gate.before_tool(STEP, replace(CALL, name="read")), ToolCall)
    assert asked.names == ["b", "rename", "a", "b"]


async def test_own_guards_judge_a_result_once_whatever_hooks_make_of_it() -> None:
    asked, stage = Asked(), Stage.AFTER_TOOL
    own = hook("own", asked.saying("own"), stage, rules=Rules(inside=True))
    await gate_of(own, hook("changes", asked.saying("changes", Modify({"for_llm": "x"})), stage)).after_tool(
        STEP, FINISHED
    )
    assert asked.names == ["own", "changes"]


async def test_a_hook_that_comes_while_own_guards_judge_again_is_asked_as_well() -> None:
    gate, late = gate_of(), hook("late", Asked().saying("late", Deny("no bash")))

    async def reloads(question: Question) -> Answer:
        if question.tool == "bash":
            gate.mount([own, rename, late])
        return CONTINUE

    own = hook("own", reloads, rules=Rules(inside=True))
    rename = hook("rename", Asked().saying("rename", Modify({"name": "bash"})))
    gate.mount([own, rename])
    assert isinstance(await gate.before_tool(STEP, replace(CALL, name="read")), Denied)


async def test_an_own_guard_that_ends_a_turn_over_what_hooks_made_of_a_call_is_named() -> None:
    stop = Asked().saying("own", lambda q: Abort("no bash") if q.tool == "bash" else CONTINUE)
    rename = hook("rename", Asked().saying("rename", Modify({"name": "bash"})))
    with pytest.raises(TurnAborted, match="hook own aborted"):
        await gate_of(hook("own", stop, rules=Rules(inside=True)), rename).before_tool(
            STEP, replace(CALL, name="read")
        )


async def test_what_a_hook_changes_is_an_event_of_the_step_with_the_tool_as_it_was() -> None:
    events = list[Event]()
    mounts = [hook("h", Asked().saying("h", Modify({"name": "write"}))), sink(events)]
    await gate_of(*mounts).before_tool(STEP, CALL)
    [event] = events
    assert (event.payload, event.step) == (HookModified("h", "before_tool", ("tool",), "bash"), STEP)


async def test_a_result_that_a_hook_rewrites_hides_secrets_as_any_does() -> None:
    secret = "sk-4711-very-secret-key-value"
    seen, gate = Asked(), Gate(redactor=Redactor([secret]))
    rewrites = Asked().saying("a", Modify({"for_llm": f"it is {secret}"}))
    gate.mount([hook("a", rewrites, Stage.AFTER_TOOL), hook("b", seen.saying("b"), Stage.AFTER_TOOL)])
    result = await gate.after_tool(STEP, FINISHED)
    assert "REDACTED" in result.for_llm
    [(_, question)] = seen.questions
    assert question.subject == replace(FINISHED, result=result)


def test_what_observers_hear_hides_secrets_too() -> None:
    secret = "sk-4711-very-secret-key-value"
    events, gate = list[Event](), Gate(redactor=Redactor([secret]))
    gate.mount([sink(events)])
    gate.events.emit(ToolExecSkipped("bash", f"it is {secret}", "c1"), STEP)
    [event] = events
    assert isinstance(event.payload, ToolExecSkipped)
    assert "REDACTED" in event.payload.Reason


def test_what_people_are_asked_and_say_hides_secrets_from_extensions() -> None:
    secret = "sk-4711-very-secret-key-value"
    told, gate = list[Event](), Gate(redactor=Redactor([secret]))
    kinds = (PersonAsked, CallDecided, CompactionEnded)
    rules = Rules(observe=Observed(tuple(it.kind for it in kinds)), inside=True)
    gate.mount([Mount(InsideHook("extension", hear=told.append), rules)])
    gate.events.emit(PersonAsked(CALL, f"Deploy with {secret}?"), STEP)
    gate.events.emit(CallDecided(CALL, "denied", "user", f"{secret} is the wrong one"), STEP)
    gate.events.emit(CompactionEnded("t", 1, 1, "completed", f"they use {secret}", f"no {secret}"), STEP)
    asked, decided, compacted = (it.payload for it in told)
    assert isinstance(asked, PersonAsked)
    assert isinstance(decided, CallDecided)
    assert isinstance(compacted, CompactionEnded)
    said = (asked.preview, decided.why, compacted.summary, compacted.failure)
    assert ["REDACTED" in it and secret not in it for it in said] == [True] * 4


async def test_a_stage_that_the_hook_did_not_declare_is_not_asked() -> None:
    asked = Asked()
    mount = hook("h", asked.saying("h", Deny("no")))
    assert isinstance(mount.hook, InsideHook)
    mount.hook.declared = Hello(stages=frozenset({Stage.AFTER_TOOL}))
    assert await gate_of(mount).before_tool(STEP, CALL) == CALL


# --- failures ---


async def _broken(_question: Question) -> Answer:
    raise RuntimeError("bug")


OUTCOMES: dict[tuple[Policy, Stage], str] = {
    ("continue", Stage.BEFORE_LLM): "goes on",
    ("continue", Stage.AFTER_LLM): "goes on",
    ("continue", Stage.BEFORE_TOOL): "goes on",
    ("continue", Stage.AFTER_TOOL): "goes on",
    ("deny", Stage.BEFORE_LLM): "aborts",
    ("deny", Stage.AFTER_LLM): "aborts",
    ("deny", Stage.BEFORE_TOOL): "denies",
    ("deny", Stage.AFTER_TOOL): "withholds",
    ("abort", Stage.BEFORE_LLM): "aborts",
    ("abort", Stage.AFTER_LLM): "aborts",
    ("abort", Stage.BEFORE_TOOL): "aborts",
    ("abort", Stage.AFTER_TOOL): "aborts",
}


@pytest.mark.parametrize(("policy", "stage"), OUTCOMES)
@pytest.mark.parametrize("how", ["raises", "is late", "wrong answer", "may not"])
async def test_a_failing_hook_does_what_its_policy_says_however_it_fails(
    policy: Policy, stage: Stage, how: str
) -> None:
    asked, events = Asked(), list[Event]()
    forbidden = {"name": "x"} if stage is Stage.BEFORE_TOOL else {"model": "x/y"}
    forbidden = {Stage.AFTER_TOOL: {"for_llm": "x"}, Stage.AFTER_LLM: {"content": "x"}}.get(stage, forbidden)
    judge = {
        "raises": _broken,
        "is late": never,
        "wrong answer": asked.saying("bad", Approve()),
        "may not": asked.saying("bad", Modify(forbidden)),
    }[how]
    rules = Rules(on_failure={stage: policy}, timeout_s={stage: 0.02}, may_modify=frozenset())
    mounts = [hook("bad", judge, stage, rules=rules), hook("next", asked.saying("next"), stage), sink(events)]
    outcome = OUTCOMES[policy, stage]
    if outcome == "aborts":
        with pytest.raises(TurnAborted, match="hook bad failed"):
            await _pass(mounts, stage)
    else:
        found = await _pass(mounts, stage)
        assert isinstance(found, Denied) is (outcome == "denies")
        withheld = isinstance(found, ToolResult) and found.for_llm.startswith("Tool result withheld: hook bad failed")
        assert withheld is (outcome == "withholds")
    assert ("next" in asked.names) is (outcome in ("goes on", "withholds"))
    failures = [event.payload for event in events if isinstance(event.payload, HookFailed)]
    assert [(f.hook, f.stage, f.policy) for f in failures] == [("bad", stage, policy)]


async def test_a_withheld_result_stays_withheld_although_the_hook_may_modify_nothing() -> None:
    rules = Rules(on_failure={Stage.AFTER_TOOL: "deny"}, may_modify=frozenset({"for_user"}))
    result = await gate_of(hook("redact", _broken, Stage.AFTER_TOOL, rules=rules)).after_tool(STEP, FINISHED)
    assert result.error is not None
    assert (result.error.denied_by, result.for_user, "out" in result.for_llm.split()) == ("hook:redact", "", False)


async def test_a_hook_that_is_dropped_while_it_is_asked_may_still_fail() -> None:
    gate = gate_of()

    async def gone(_question: Question) -> Answer:
        gate.mount([])
        return Modify({"arguments": {"n": 1}})

    gate.mount([hook("gone", gone, rules=Rules(may_modify=frozenset()))])
    assert await gate.before_tool(STEP, CALL) == CALL
    assert gate.stats == {}


async def test_a_change_that_counts_ends_what_failed_at_that_stage() -> None:
    changes = iter([Modify({"arguments": {}}), Modify({"name": "bash2"}), Modify({"arguments": {}})])
    rules = Rules(may_modify=frozenset({"tool"}))
    gate = gate_of(hook("h", Asked().saying("h", lambda _: next(changes)), rules=rules))
    failing = list[bool]()
    for _ in range(3):
        await gate.before_tool(STEP, CALL)
        failing.append(bool(gate.stats["h"].failing))
    assert failing == [True, False, True]


async def test_failures_and_calls_are_counted() -> None:
    gate = gate_of(
        hook("bad", _broken),
        hook("good", Asked().saying("good")),
        hook("idle", Asked().saying("idle"), Stage.AFTER_LLM),
    )
    for _ in range(3):
        await gate.before_tool(STEP, CALL)
    found = {name: (stats.calls, stats.failures) for name, stats in gate.stats.items()}
    assert found == {"bad": (3, 3), "good": (3, 0), "idle": (0, 0)}
    assert gate.stats["idle"].quantile_ms(0.5) is None
    assert (gate.stats["good"].quantile_ms(0.5) or 0) > 0


# --- exchange ---


async def test_a_walk_under_way_asks_an_exchanged_hook_in_its_new_form() -> None:
    asked, gate = Asked(), gate_of()

    async def slow(question: Question) -> Answer:
        asked.questions.append(("slow", question))
        gate.mount([hook("slow", slow), hook("z", asked.saying("new z", Deny("no"))), hook("zz", asked.saying("zz"))])
        return CONTINUE

    gate.mount([hook("slow", slow), hook("z", asked.saying("old z")), hook("y", asked.saying("y"))])
    assert isinstance(await gate.before_tool(STEP, CALL), Denied)
    assert asked.names == ["slow", "new z"]


@pytest.mark.parametrize("answer", [CONTINUE, Respond(ToolResult("cached"))])
async def test_a_hook_under_other_rules_judges_a_call_that_is_under_way_again(answer: Answer) -> None:
    """Its failure let the call go on; by what it is now, that refuses."""
    gate = gate_of()
    bad = InsideHook("bad", {Stage.BEFORE_TOOL: _broken})
    at = frozenset({Stage.BEFORE_TOOL})

    async def reloads(_question: Question) -> Answer:
        gate.mount([Mount(bad, Rules(stages=at, on_failure={Stage.BEFORE_TOOL: "deny"})), hook("z", reloads)])
        return answer

    gate.mount([Mount(bad, Rules(stages=at)), hook("z", reloads)])
    assert isinstance(await gate.before_tool(STEP, CALL), Denied)


async def test_an_answer_counts_only_once_a_hook_that_came_meanwhile_has_judged_the_call() -> None:
    asked, gate = Asked(), gate_of()

    async def cached(_question: Question) -> Answer:
        gate.mount([hook("cache", cached), hook("a guard", asked.saying("a guard", Deny("no")))])
        return Respond(ToolResult("cached"))

    gate.mount([hook("cache", cached)])
    assert isinstance(await gate.before_tool(STEP, CALL), Denied)
    assert asked.names == ["a guard"]


async def test_an_exchange_keeps_the_counters_of_hooks_that_stay() -> None:
    gate = gate_of(hook("a", Asked().saying("a")), hook("b", Asked().saying("b")))
    await gate.before_tool(STEP, CALL)
    gate.mount([hook("a", Asked().saying("a"))])
    assert {name: stats.calls for name, stats in gate.stats.items()} == {"a": 1}


async def test_what_was_counted_of_a_hook_that_is_dropped_is_told_before() -> None:
    events = list[Event]()
    gate = gate_of(hook("bad", _broken), sink(events, FailedOpen.kind))
    for _ in range(3):
        await gate.before_tool(STEP, CALL)
    gate.mount([])
    assert [it.payload.times for it in events if isinstance(it.payload, FailedOpen)] == [1, 2]


# --- reading along ---


@pytest.mark.parametrize(
    ("rules", "holds"),
    [
        (Rules(), True),
        (Rules(may_modify=frozenset({"content"})), True),
        (Rules(may_modify=frozenset({"tool_calls"})), False),
        (Rules(mode="audit"), False),
        (Rules(mode="off"), False),
        (Rules(match=matching(channels="slack")), False),
        (Rules(match=matching(models="openai/*")), True),
        (Rules(match=matching(models="other/*")), False),
    ],
)
def test_text_is_held_back_only_where_a_hook_may_still_change_it(rules: Rules, holds: bool) -> None:
    gate = gate_of(hook("h", Asked().saying("h"), Stage.AFTER_LLM, rules=rules))
    assert gate.holds_text(STEP, "openai/gpt") is holds


def test_text_is_held_for_the_model_that_is_asked() -> None:
    gate = gate_of(hook("h", Asked().saying("h"), Stage.AFTER_LLM, rules=Rules(match=matching(models="other/*"))))
    assert gate.holds_text(STEP, "other/model")


def test_text_is_not_held_for_hooks_of_other_stages() -> None:
    assert not gate_of(hook("h", Asked().saying("h"), Stage.BEFORE_LLM)).holds_text(STEP, "m")


async def test_a_hook_sees_the_chat_of_the_step() -> None:
    asked = Asked()
    step = Step("main", "t", Inbound(Chat("slack", "C1", sender="U9"), "x"))
    await gate_of(hook("h", asked.saying("h"))).before_tool(step, CALL)
    assert b'"channel":"slack","chat_id":"C1"' in asked.questions[0][1].params
    assert b'"sender_id":"U9"' in asked.questions[0][1].params
