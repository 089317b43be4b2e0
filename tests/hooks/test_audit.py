"""Audit hooks and events: recorded, never in the way."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from hookgate.hooks.audit import MAX_ASKED, MAX_WAITING, PAUSE_S
from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import (
    GateDecision,
    HookFailed,
    HookModified,
    HookState,
    ToolExecEnd,
    TurnStart,
)
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer, Approve, Deny, Failed, Modify, Refuse, Respond
from hookgate.protocol.hook.hello import Hello
from hookgate.protocol.hook.match import Observed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolResult
from tests.hooks.doubles import CALL, STEP, Asked, auditing, gate_of, hook, matching, never, sink
from tests.hooks.processes import until

AUDIT = Rules(mode="audit")


async def _heard(events: list[Event], count: int) -> list[GateDecision]:
    """Audits are answered on their own time, and nothing announces the last."""
    await until(lambda: len(events) >= count)
    return [event.payload for event in events if isinstance(event.payload, GateDecision)]


ANSWERS: list[Answer] = [Deny("no"), Abort("no"), Modify({"name": "x"}), Respond(ToolResult("x")), CONTINUE]


@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_audit_hook_has_no_effect_and_what_it_would_have_done_is_recorded(answer: Answer) -> None:
    events: list[Event] = []
    gate = gate_of(hook("audit", Asked().saying("a", answer), rules=AUDIT), sink(events, "gate_decision"))
    async with auditing(gate):
        assert await gate.before_tool(STEP, CALL) == CALL
        (decision,) = await _heard(events, 1)
    assert (decision.hook, decision.action, decision.audit, decision.tool) == ("audit", answer.action, True, "bash")


async def test_an_audit_approver_refuses_nobody() -> None:
    events: list[Event] = []
    gate = gate_of(
        hook("audit", Asked().saying("a", Refuse("no")), Stage.APPROVE_TOOL, rules=AUDIT),
        sink(events, "gate_decision"),
    )
    async with auditing(gate):
        assert await gate.approve_tool(STEP, CALL) == ()
        (decision,) = await _heard(events, 1)
    assert (decision.action, decision.reason) == ("refuse", "no")


async def test_an_audit_hook_delays_nothing_and_more_than_it_can_take_is_counted() -> None:
    gate = gate_of(hook("slow", never, rules=AUDIT))
    async with auditing(gate):
        with trio.fail_after(20):
            for _ in range(MAX_ASKED + 10):
                assert await gate.before_tool(STEP, CALL) == CALL
            await until(lambda: gate.audits.missed["slow"] >= 10)
    assert gate.audits.missed["slow"] == 10


async def test_an_audit_hook_that_does_not_match_is_not_asked() -> None:
    asked = Asked()
    rules = Rules(mode="audit", match=matching(tools="read"))
    gate = gate_of(hook("a", asked.saying("a"), rules=rules))
    async with auditing(gate):
        await gate.before_tool(STEP, CALL)
        await gate.audits.flush()
    assert asked.names == []


async def test_whoever_stands_beside_an_audit_hook_is_asked_once() -> None:
    asked = Asked()
    gate = gate_of(hook("audit", asked.saying("audit"), rules=AUDIT), hook("other", asked.saying("other")))
    async with auditing(gate):
        await gate.before_tool(STEP, CALL)
        await gate.audits.flush()
    assert sorted(asked.names) == ["audit", "other"]


async def test_questions_that_come_together_wait_for_each_other_and_a_flush_asks_them_at_once(
    autojump_clock: MockClock,
) -> None:
    asked = Asked()
    gate = gate_of(hook("audit", asked.saying("audit"), rules=AUDIT))
    async with auditing(gate):
        await gate.before_tool(STEP, CALL)
        await trio.sleep(PAUSE_S / 2)
        await gate.before_tool(STEP, CALL)
        assert asked.names == []
        await trio.sleep(PAUSE_S)
        assert asked.names == ["audit"] * 2
        await gate.before_tool(STEP, CALL)
        before = trio.current_time()
        await gate.audits.flush()
        assert (asked.names, trio.current_time()) == (["audit"] * 3, before)


async def test_nobody_waits_for_a_flush_where_nothing_asks() -> None:
    gate = gate_of(hook("audit", Asked().saying("audit"), rules=AUDIT))
    await gate.before_tool(STEP, CALL)
    with trio.fail_after(20):
        await gate.audits.flush()


async def test_more_than_may_wait_is_missed_and_counted() -> None:
    gate = gate_of(hook("audit", Asked().saying("audit"), rules=AUDIT))
    for _ in range(MAX_WAITING + 3):
        await gate.before_tool(STEP, CALL)
    assert gate.audits.missed["audit"] == 3


async def test_a_failing_audit_hook_is_reported_as_one() -> None:
    events: list[Event] = []
    rules = Rules(mode="audit", on_failure={Stage.BEFORE_TOOL: "abort"})
    gate = gate_of(hook("bad", Asked().saying("bad", Failed("nonsense")), rules=rules), sink(events))
    async with auditing(gate):
        assert await gate.before_tool(STEP, CALL) == CALL
        await _heard(events, 1)
    assert [event.payload for event in events] == [HookFailed("bad", "before_tool", "nonsense", "audit")]


# --- events ---


@pytest.mark.parametrize(
    ("answer", "action", "reason"),
    [(Deny("no"), "deny_tool", "no"), (CONTINUE, "continue", None), (Respond(ToolResult("x")), "respond", None)],
)
async def test_every_decision_is_an_event_for_who_names_it(answer: Answer, action: str, reason: str | None) -> None:
    events: list[Event] = []
    gate = gate_of(hook("h", Asked().saying("h", answer)), sink(events, "gate_decision"))
    await gate.before_tool(STEP, CALL)
    (event,) = events
    assert isinstance(event.payload, GateDecision)
    assert (event.payload.action, event.payload.reason, event.payload.audit) == (action, reason, None)
    assert event.payload.duration_ns > 0


async def test_decisions_are_not_heard_with_a_star() -> None:
    events: list[Event] = []
    await gate_of(hook("h", Asked().saying("h")), sink(events, "*", "hookgate.*")).before_tool(STEP, CALL)
    assert events == []


async def test_a_failed_approver_is_recorded_as_a_failure_that_refused() -> None:
    events: list[Event] = []
    gate = gate_of(hook("h", Asked().saying("h", CONTINUE), Stage.APPROVE_TOOL), sink(events, "*", "gate_decision"))
    await gate.approve_tool(STEP, CALL)
    failed, decision = (event.payload for event in events)
    assert failed == HookFailed("h", "approve_tool", "continue is no answer at approve_tool", "deny")
    assert isinstance(decision, GateDecision)
    assert (decision.action, decision.failed) == ("refuse", True)


async def test_a_stranger_who_answers_a_call_is_an_event_that_names_it() -> None:
    events: list[Event] = []
    gate = gate_of(hook("cache", Asked().saying("c", Respond(ToolResult("x")))), sink(events))
    await gate.before_tool(STEP, CALL)
    [event] = events
    assert (event.payload, event.step) == (HookModified("cache", "before_tool", ("result",), "bash"), STEP)


def _observer(name: str, events: list[Event], rules: Rules) -> Mount:
    return Mount(InsideHook(name, hear=events.append), rules)


def test_an_observer_hears_what_it_observes_where_it_matches() -> None:
    heard: dict[str, list[Event]] = {name: [] for name in ("all", "tool", "slack", "off", "narrow")}
    rules = {
        "all": Rules(observe=Observed(("*",))),
        "tool": Rules(observe=Observed(("*",)), match=matching(tools="read")),
        "slack": Rules(observe=Observed(("*",)), match=matching(channels="slack")),
        "off": Rules(observe=Observed(("*",)), mode="off"),
        "narrow": Rules(observe=Observed(("*",))),
    }
    mounts = [_observer(name, heard[name], rules[name]) for name in heard]
    narrow = mounts[-1].hook
    assert isinstance(narrow, InsideHook)
    narrow.declared = Hello(events=("turn_*",))
    gate = gate_of(*mounts)
    gate.events.emit(TurnStart("hi", 0), STEP)
    gate.events.emit(ToolExecEnd("bash", 1, 1, 1, False, False, "c"), STEP)
    gate.events.emit(HookState("x", "up"))
    kinds = {name: [event.kind for event in events] for name, events in heard.items()}
    everything = ["turn_start", "tool_exec_end", "hook_state"]
    assert kinds == {
        "all": everything,
        "tool": ["turn_start", "hook_state"],
        "slack": ["hook_state"],
        "off": [],
        "narrow": ["turn_start"],
    }
    assert [event.number for event in heard["all"]] == [1, 2, 3]


def test_nobody_hears_what_nobody_observes() -> None:
    gate = gate_of(hook("h", Asked().saying("h")))
    assert not gate.events.heard(TurnStart)
    gate.mount([sink([], "turn_start")])
    assert gate.events.heard(TurnStart)
    assert not gate.events.heard(HookState)


def test_a_sink_that_raises_harms_nobody() -> None:
    events: list[Event] = []

    def broken(_event: Event) -> None:
        raise RuntimeError("bug")

    bad = Mount(InsideHook("a-bad", hear=broken), Rules(observe=Observed(("*",))))
    gate_of(bad, sink(events)).events.emit(TurnStart("hi", 0), STEP)
    assert len(events) == 1


async def test_an_inside_hook_turns_a_crash_into_a_failure_with_its_reason() -> None:
    async def judge(_question: Question) -> Answer:
        raise KeyError("missing")

    guard = InsideHook("g", {Stage.APPROVE_TOOL: judge, Stage.BEFORE_TOOL: never})
    assert await guard.ask(Question(Stage.APPROVE_TOOL, STEP, CALL), 1) == Failed("KeyError: 'missing'")
    assert await guard.ask(Question(Stage.BEFORE_TOOL, STEP, CALL), 0.02) == Failed("no answer within 20 ms")
    assert await guard.ask(Question(Stage.AFTER_LLM, STEP, CALL), 1) == CONTINUE
    yes = InsideHook("g", {Stage.APPROVE_TOOL: Asked().saying("g", Approve())})
    assert await yes.ask(Question(Stage.APPROVE_TOOL, STEP, CALL), 1) == Approve()
