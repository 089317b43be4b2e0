"""Requests that hooks change, and the tools they add: whose they are and who answers their calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import trio

from hookgate.hooks.gate import Denied, Gate
from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.protocol.errors import TurnAborted
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import HookFailed, HookModified, ToolInjected
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer, Deny, Modify, Respond
from hookgate.protocol.hook.hello import Hello
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Fault, Message, ToolResult, ToolSpec
from tests.hooks.doubles import BASH, CALL, CHAT, REQUEST, STEP, Asked, gate_of, hook, matching, never, sink


async def _broken(_question: Question) -> Answer:
    raise RuntimeError("bug")


# --- changed requests, tools that hooks add ---

WEATHER = ToolSpec("weather", "tells", {"type": "object"}, provider="", timeout_s=7)


def _names(request: object) -> list[str]:
    return [spec.name for spec in getattr(request, "tools", ())]


async def test_an_injected_tool_is_the_hooks_own_and_an_event_says_so() -> None:
    events: list[Event] = []
    add = hook("sky", Asked().saying("sky", Modify({"tools": (BASH, WEATHER)})), Stage.BEFORE_LLM)
    request = await gate_of(add, sink(events)).before_llm(STEP, REQUEST)
    assert [(spec.name, spec.owner) for spec in request.tools] == [("bash", ""), ("weather", "sky")]
    assert [(event.payload, event.step) for event in events] == [
        (ToolInjected("sky", "weather"), STEP),
        (HookModified("sky", "before_llm", ("tools",)), STEP),
    ]


async def test_a_tool_that_no_model_can_use_stays_out_and_the_hook_that_added_it_is_named() -> None:
    events = list[Event]()
    gate = Gate(spec_problem=lambda spec: "it has no name" if spec.name == "odd" else None)
    odd = Modify({"tools": (*REQUEST.tools, replace(WEATHER, name="odd"), WEATHER)})
    gate.mount([hook("sky", Asked().saying("sky", odd), Stage.BEFORE_LLM), sink(events)])
    assert [spec.name for spec in (await gate.before_llm(STEP, REQUEST)).tools] == ["bash", "weather"]
    assert events[0].payload == HookFailed("sky", "before_llm", "it has no name", "continue")


async def test_an_echoed_request_is_no_change_and_no_event() -> None:
    events: list[Event] = []
    echo = Modify({"model": REQUEST.model, "messages": REQUEST.messages, "tools": REQUEST.tools, "options": {}})
    gate = gate_of(hook("echo", Asked().saying("echo", echo), Stage.BEFORE_LLM), sink(events))
    assert await gate.before_llm(STEP, REQUEST) == REQUEST
    assert events == []


async def test_a_changed_system_message_is_an_event_that_names_the_hook() -> None:
    events: list[Event] = []
    evil = Modify({"messages": (Message("system", "evil"), REQUEST.messages[1])})
    gate = gate_of(hook("evil", Asked().saying("evil", evil), Stage.BEFORE_LLM), sink(events))
    await gate.before_llm(STEP, REQUEST)
    assert [e.payload for e in events] == [HookModified("evil", "before_llm", ("messages", "system"))]


@pytest.mark.parametrize(
    ("model", "meant"),
    [("mini", "openai/mini"), ("meta/llama", "openai/meta/llama"), ("anthropic/small", "anthropic/small")],
)
async def test_a_model_without_a_known_provider_stays_with_the_current_one(model: str, meant: str) -> None:
    cheap = hook("cheap", Asked().saying("cheap", Modify({"model": model})), Stage.BEFORE_LLM)
    gate = gate_of(cheap, providers=frozenset({"openai", "anthropic"}))
    assert (await gate.before_llm(STEP, REQUEST)).model == meant


def _owner(name: str, answer: Answer | None, *stages: Stage, rules: Rules | None = None) -> Mount:
    judge = Asked().saying(name, answer) if answer else _broken
    mount = hook(name, judge, *(stages or (Stage.BEFORE_TOOL,)), rules=rules)
    assert isinstance(mount.hook, InsideHook)
    mount.hook.declared = Hello(tools=(WEATHER,))
    return mount


async def test_a_declared_tool_joins_every_matching_request_and_shadows_nothing() -> None:
    first, second = _owner("a", CONTINUE), _owner("b", CONTINUE)
    request = await gate_of(second, first).before_llm(STEP, REQUEST)
    assert [(spec.name, spec.owner) for spec in request.tools] == [("bash", ""), ("weather", "a")]
    taken = replace(REQUEST, tools=(ToolSpec("weather", "built in", {}),))
    assert (await gate_of(first).before_llm(STEP, taken)).tools == taken.tools


@pytest.mark.parametrize("rules", [Rules(match=matching(channels="slack")), Rules(mode="audit"), Rules(mode="off")])
async def test_a_declared_tool_stays_out_where_its_hook_does(rules: Rules) -> None:
    request = await gate_of(_owner("sky", CONTINUE, rules=rules)).before_llm(STEP, REQUEST)
    assert _names(request) == ["bash"]


async def test_other_hooks_see_a_declared_tool_and_may_take_it_away() -> None:
    strip = hook("strip", Asked().saying("strip", Modify({"tools": (BASH,)})), Stage.BEFORE_LLM)
    assert _names(await gate_of(_owner("sky", CONTINUE), strip).before_llm(STEP, REQUEST)) == ["bash"]


def owned_by(hook: str) -> Callable[[str], str]:
    """Of all tools it has injected the weather."""
    return lambda tool: hook if tool == "weather" else ""


async def test_the_owner_of_a_tool_is_asked_last_and_apart() -> None:
    asked = Asked()
    owner = hook("a-owner", asked.saying("a-owner", Respond(ToolResult("sunny"))))
    other = hook("b-other", asked.saying("b-other"))
    gate = gate_of(owner, other)
    call, spec = replace(CALL, name="weather"), replace(WEATHER, provider="hook:a-owner")
    assert await gate.before_tool(STEP, call, owned_by("a-owner")) == call
    assert asked.names == ["b-other"]
    assert await gate.answer_owned(STEP, call, spec) == ToolResult("sunny")
    assert asked.names == ["b-other", "a-owner"]
    assert asked.questions[1] == ("a-owner", Question(Stage.BEFORE_TOOL, STEP, call))


async def test_the_tools_of_a_match_keep_no_call_from_its_owner_and_every_other_from_a_hook() -> None:
    asked, bash = Asked(), Rules(match=matching(tools="bash"))
    owner = _owner("sky", Respond(ToolResult("sunny")), rules=bash)
    gate = gate_of(owner, hook("b-other", asked.saying("b-other"), rules=bash))
    assert _names(await gate.before_llm(STEP, REQUEST)) == ["bash", "weather"]
    call, spec = replace(CALL, name="weather"), replace(WEATHER, provider="hook:sky")
    assert await gate.before_tool(STEP, call, owned_by("sky")) == call
    assert (asked.names, await gate.answer_owned(STEP, call, spec)) == ([], ToolResult("sunny"))


async def test_a_tool_is_away_where_it_was_offered_and_while_its_hook_starts_again() -> None:
    owner = replace(_owner("sky", CONTINUE, rules=Rules(match=matching(chats="-42"))), down=lambda: "naps")
    gate, model = gate_of(owner), REQUEST.model
    assert gate.away(STEP, "weather", model) == ""
    await gate.before_llm(STEP, REQUEST)
    assert gate.away(STEP, "weather", model) == "the hook sky naps"
    elsewhere = replace(STEP, inbound=replace(STEP.inbound, chat=replace(CHAT, chat_id="-1")))
    assert [gate.away(step, "weather", model) for step in (elsewhere, replace(STEP, agent="other"))] == ["", ""]
    assert gate.away(STEP, "bash", model) == ""
    gate.mount([replace(owner, down=lambda: "")])
    assert gate.away(STEP, "weather", model) == ""
    gate.mount([owner])
    await gate.before_llm(STEP, replace(REQUEST, tools=(ToolSpec("weather", "built in", {}),)))
    assert gate.away(STEP, "weather", model) == ""


@pytest.mark.parametrize("answer", [CONTINUE, Modify({"arguments": {}}), None])
async def test_an_owner_that_does_not_respond_is_named_in_a_clear_error(answer: Answer | None) -> None:
    result = await gate_of(_owner("sky", answer)).answer_owned(STEP, CALL, replace(WEATHER, provider="hook:sky"))
    reason = "hook sky did not respond to the call of its own tool"
    assert (result.is_error, result.error) == (True, Fault("fatal", "sky", reason))
    assert reason in result.for_llm


async def test_an_owner_that_is_gone_or_takes_no_calls_is_named_too() -> None:
    spec = replace(WEATHER, provider="hook:sky")
    leaving_out = _owner("sky", Respond(ToolResult("sunny")))
    # It has declared it, and says that it is not to be asked there.
    assert isinstance(leaving_out.hook, InsideHook)
    leaving_out.hook.declared = Hello(stages=frozenset({Stage.BEFORE_LLM}))
    for gate in (gate_of(), gate_of(_owner("sky", CONTINUE, Stage.BEFORE_LLM)), gate_of(leaving_out)):
        result = await gate.answer_owned(STEP, CALL, spec)
        assert (result.is_error, "hook sky takes no before_tool calls" in result.for_llm) == (True, True)


async def test_an_owner_may_deny_or_abort_its_own_tool() -> None:
    spec = replace(WEATHER, provider="hook:sky")
    denied = await gate_of(_owner("sky", Deny("no key"))).answer_owned(STEP, CALL, spec)
    assert denied.for_llm == "Tool execution denied by hook: no key"
    assert denied.error is not None
    assert denied.error.denied_by == "hook:sky"
    with pytest.raises(TurnAborted, match="at before_tool"):
        await gate_of(_owner("sky", Abort("stop"))).answer_owned(STEP, CALL, spec)


async def test_the_owners_deadline_is_the_tools_own_timeout() -> None:
    rules = Rules(timeout_s={Stage.BEFORE_TOOL: 60})
    gate = gate_of(hook("sky", never, rules=rules))
    spec = replace(WEATHER, provider="hook:sky", timeout_s=0.02)
    with trio.fail_after(20):
        assert (await gate.answer_owned(STEP, CALL, spec)).is_error


async def test_an_owner_guards_what_a_call_of_its_tool_is_renamed_to() -> None:
    asked = Asked()
    rename = hook("a-rename", asked.saying("a-rename", Modify({"name": "bash"})))
    owner = hook("b-owner", asked.saying("b-owner", Deny("no bash")))
    call = replace(CALL, name="weather")
    verdict = await gate_of(rename, owner).before_tool(STEP, call, owned_by("b-owner"))
    assert isinstance(verdict, Denied)
    assert asked.names == ["a-rename", "b-owner"]


async def test_a_call_renamed_into_an_owned_tool_is_left_to_approval_and_then_its_owner() -> None:
    asked = Asked()
    rename = hook("a-rename", asked.saying("a-rename", Modify({"name": "weather"})))
    owner = hook("b-owner", asked.saying("b-owner", Respond(ToolResult("sunny"))))
    verdict = await gate_of(rename, owner).before_tool(STEP, CALL, owned_by("b-owner"))
    assert verdict == replace(CALL, name="weather")
    assert asked.names == ["a-rename"]
