"""Every shape a hook may answer with, at every stage, and what each is read as."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.answers import (
    CONTINUE,
    Abort,
    Approve,
    Ask,
    Continue,
    Deny,
    Drop,
    Modify,
    Refuse,
    ReplyWith,
    Respond,
    parse_answer,
)
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import Fault, ToolResult

INTERCEPTORS = [stage for stage in Stage if stage is not Stage.APPROVE_TOOL]
OBJECTS: dict[Stage, tuple[str, dict[str, Any], dict[str, Any]]] = {
    Stage.ON_MESSAGE: ("message", {"text": "x"}, {"text": "x"}),
    Stage.BEFORE_LLM: ("request", {"model": "a/b"}, {"model": "a/b"}),
    Stage.AFTER_LLM: ("response", {"content": "x"}, {"content": "x"}),
    Stage.BEFORE_TOOL: ("call", {"tool": "x"}, {"name": "x"}),
    Stage.AFTER_TOOL: ("result", {"for_llm": "x"}, {"for_llm": "x"}),
    Stage.BEFORE_SEND: ("message", {"media": ["data:,x"]}, {"media": ("data:,x",)}),
}


@pytest.mark.parametrize("stage", INTERCEPTORS)
@pytest.mark.parametrize(
    "result", [None, {}, {"action": ""}, {"action": None}, {"action": "continue"}, {"reason": "x"}]
)
def test_an_empty_answer_lets_an_interceptor_stage_go_on(stage: Stage, result: Any) -> None:
    assert parse_answer(stage, result) == CONTINUE


@pytest.mark.parametrize("result", [None, {}, {"approved": None}, {"reason": None}])
def test_an_empty_answer_refuses_an_approval(result: Any) -> None:
    assert parse_answer(Stage.APPROVE_TOOL, result) == Refuse("")


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("result", [[], [{}], "continue", "", 0, 1.5, True, False])
def test_a_result_that_is_no_object_is_a_failure_everywhere(stage: Stage, result: Any) -> None:
    with pytest.raises(BadMessage, match="must be an object"):
        parse_answer(stage, result)


@pytest.mark.parametrize("stage", INTERCEPTORS)
@pytest.mark.parametrize("action", [5, True, [], {}, ["modify"], 0, False])
def test_an_action_that_is_no_string_is_a_failure(stage: Stage, action: Any) -> None:
    with pytest.raises(BadMessage, match="action must be a string"):
        parse_answer(stage, {"action": action})


FULL = {
    "message": {"text": "x"},
    "reply": {"text": "x"},
    "request": {"model": "a/b"},
    "response": {"content": "x"},
    "call": {"tool": "x"},
    "result": {"for_llm": "x"},
}
ABORTED = set(INTERCEPTORS) - {Stage.BEFORE_SEND}
ALLOWED = {
    "continue": set(INTERCEPTORS),
    "modify": set(INTERCEPTORS),
    "abort_turn": ABORTED,
    "hard_abort": ABORTED,
    "respond": {Stage.BEFORE_TOOL, Stage.ON_MESSAGE},
    "drop": {Stage.ON_MESSAGE, Stage.BEFORE_SEND},
    "deny_tool": {Stage.BEFORE_TOOL},
    "approve": set(),
    "deny": set(),
    "Modify": set(),
    "DENY_TOOL": set(),
    "continue ": set(),
    "reject": set(),
}


@pytest.mark.parametrize("stage", INTERCEPTORS)
@pytest.mark.parametrize("action", ALLOWED)
def test_an_action_counts_only_at_the_stages_that_allow_it(stage: Stage, action: str) -> None:
    answer = {"action": action, "reason": "why", **FULL}
    if stage in ALLOWED[action]:
        assert parse_answer(stage, answer).action == action
        return
    with pytest.raises(BadMessage, match=f"is not one of .* at {stage}"):
        parse_answer(stage, answer)


@pytest.mark.parametrize("action", [a for a in ALLOWED if a])
def test_no_action_of_an_interceptor_is_an_approval(action: str) -> None:
    with pytest.raises(BadMessage):
        parse_answer(Stage.APPROVE_TOOL, {"action": action, "reason": "why"})


@pytest.mark.parametrize("stage", sorted(ABORTED))
def test_aborts_carry_their_reason_and_how_far_they_reach(stage: Stage) -> None:
    assert parse_answer(stage, {"action": "abort_turn", "reason": "r"}) == Abort("r")
    assert parse_answer(stage, {"action": "hard_abort"}) == Abort("", hard=True)


@pytest.mark.parametrize(("members", "reason"), [({}, ""), ({"reason": None}, ""), ({"reason": "no rm"}, "no rm")])
def test_a_denial_carries_its_reason(members: dict[str, Any], reason: str) -> None:
    assert parse_answer(Stage.BEFORE_TOOL, {"action": "deny_tool", **members}) == Deny(reason)


@pytest.mark.parametrize("action", ["deny_tool", "abort_turn", "hard_abort"])
def test_a_reason_that_is_no_string_is_a_failure_and_no_silent_pass(action: str) -> None:
    with pytest.raises(BadMessage, match="reason must be a string"):
        parse_answer(Stage.BEFORE_TOOL, {"action": action, "reason": 5})


@pytest.mark.parametrize("stage", INTERCEPTORS)
@pytest.mark.parametrize(
    "members",
    [{"decision": "modify"}, {"Action": "deny_tool"}, {"ACTION": "deny_tool"}, {"approved": False}, {"ok": 1}],
)
def test_unknown_members_without_an_action_are_a_failure(stage: Stage, members: dict[str, Any]) -> None:
    with pytest.raises(BadMessage, match=f"unknown member '{next(iter(members))}'"):
        parse_answer(stage, members)


def test_a_near_miss_is_named_with_its_right_spelling() -> None:
    with pytest.raises(BadMessage, match=r"'Action' \(did you mean 'action'\?\)"):
        parse_answer(Stage.BEFORE_TOOL, {"Action": "deny_tool"})
    with pytest.raises(BadMessage, match=r"'Approved' \(did you mean 'approved'\?\)"):
        parse_answer(Stage.APPROVE_TOOL, {"Approved": True})
    with pytest.raises(BadMessage, match=r"'Arguments' \(did you mean 'arguments'\?\)"):
        parse_answer(Stage.BEFORE_TOOL, {"action": "modify", "call": {"Arguments": {}}})
    with pytest.raises(BadMessage, match=r"'deny' \(did you mean 'deny_tool'\?\)"):
        parse_answer(Stage.BEFORE_TOOL, {"action": "deny"})


@pytest.mark.parametrize("stage", INTERCEPTORS)
def test_an_object_beside_continue_is_ignored_and_named(stage: Stage) -> None:
    name, patch, _ = OBJECTS[stage]
    assert parse_answer(stage, {"action": "continue", name: patch}) == Continue((name,))
    assert parse_answer(stage, {"action": "continue", name: None}) == CONTINUE


@pytest.mark.parametrize("stage", INTERCEPTORS)
@pytest.mark.parametrize("action", [{}, {"action": ""}, {"action": None}])
def test_an_object_without_an_action_is_a_failure_as_the_action_was_forgotten(
    stage: Stage, action: dict[str, Any]
) -> None:
    name, patch, _ = OBJECTS[stage]
    with pytest.raises(BadMessage, match=f"no action, but the member '{name}' of one"):
        parse_answer(stage, {**action, name: patch})
    assert parse_answer(stage, {**action, "reason": "", name: None}) == CONTINUE


@pytest.mark.parametrize("member", ["result", "reply", "tell"])
def test_a_denial_that_is_wrapped_twice_or_a_part_of_one_is_no_pass(member: str) -> None:
    with pytest.raises(BadMessage, match=f"no action, but the member '{member}' of one"):
        parse_answer(Stage.BEFORE_TOOL, {member: {"action": "deny_tool", "reason": "no"}})


@pytest.mark.parametrize("stage", INTERCEPTORS)
def test_modify_takes_the_members_that_were_named_and_no_other(stage: Stage) -> None:
    name, patch, changes = OBJECTS[stage]
    assert parse_answer(stage, {"action": "modify", name: patch}) == Modify(changes)


@pytest.mark.parametrize("stage", INTERCEPTORS)
@pytest.mark.parametrize("wrong", [None, [], "x", 5, True])
def test_modify_without_its_object_is_a_failure(stage: Stage, wrong: Any) -> None:
    name = OBJECTS[stage][0]
    with pytest.raises(BadMessage):
        parse_answer(stage, {"action": "modify"})
    with pytest.raises(BadMessage):
        parse_answer(stage, {"action": "modify", name: wrong})


@pytest.mark.parametrize("stage", INTERCEPTORS)
def test_modify_with_another_stages_object_alone_is_a_failure(stage: Stage) -> None:
    others = {name: patch for name, patch, _ in OBJECTS.values() if name != OBJECTS[stage][0]}
    with pytest.raises(BadMessage, match="modify without"):
        parse_answer(stage, {"action": "modify", **others})


@pytest.mark.parametrize("stage", INTERCEPTORS)
def test_modify_whose_object_names_nothing_known_is_a_failure(stage: Stage) -> None:
    name = OBJECTS[stage][0]
    with pytest.raises(BadMessage, match=f"{name} names no member"):
        parse_answer(stage, {"action": "modify", name: {"args": {"a": 1}}})


@pytest.mark.parametrize(
    ("stage", "patch", "where"),
    [
        (Stage.BEFORE_TOOL, {"tool": 5}, "call.tool"),
        (Stage.BEFORE_TOOL, {"tool": ""}, "call.tool"),
        (Stage.BEFORE_TOOL, {"arguments": []}, "call.arguments"),
        (Stage.BEFORE_TOOL, {"arguments": '{"a":1}'}, "call.arguments"),
        (Stage.BEFORE_LLM, {"model": 5}, "request.model"),
        (Stage.BEFORE_LLM, {"model": ""}, "request.model"),
        (Stage.BEFORE_LLM, {"options": []}, "request.options"),
        (Stage.BEFORE_LLM, {"messages": {}}, "request.messages"),
        (Stage.BEFORE_LLM, {"messages": [{"role": "robot"}]}, r"request.messages\[0\].role"),
        (Stage.BEFORE_LLM, {"messages": [{"content": "x"}]}, r"request.messages\[0\].role"),
        (Stage.BEFORE_LLM, {"messages": ["x"]}, r"request.messages\[0\]"),
        (Stage.BEFORE_LLM, {"messages": [{"role": "user", "content": 5}]}, r"request.messages\[0\].content"),
        (Stage.BEFORE_LLM, {"tools": [{}]}, r"request.tools\[0\].function"),
        (Stage.BEFORE_LLM, {"tools": [{"function": {"name": ""}}]}, r"request.tools\[0\].function.name"),
        (Stage.BEFORE_LLM, {"tools": [{"function": {"name": "x", "parameters": []}}]}, "parameters"),
        (Stage.AFTER_LLM, {"content": 5}, "response.content"),
        (Stage.AFTER_LLM, {"tool_calls": {}}, "response.tool_calls"),
        (Stage.AFTER_LLM, {"tool_calls": [{"id": "1"}]}, r"response.tool_calls\[0\].function"),
        (Stage.AFTER_TOOL, {"for_llm": 5}, "result.for_llm"),
        (Stage.AFTER_TOOL, {"is_error": "yes"}, "result.is_error"),
        (Stage.AFTER_TOOL, {"is_error": 1}, "result.is_error"),
        (Stage.AFTER_TOOL, {"media": "x"}, "result.media"),
        (Stage.AFTER_TOOL, {"media": [1]}, "result.media"),
        (Stage.AFTER_TOOL, {"error": {"kind": "made_up"}}, "result.error.kind"),
    ],
)
def test_a_member_of_the_wrong_type_is_a_failure_that_names_it(
    stage: Stage, patch: dict[str, Any], where: str
) -> None:
    with pytest.raises(BadMessage, match=where):
        parse_answer(stage, {"action": "modify", OBJECTS[stage][0]: patch})


@pytest.mark.parametrize(
    ("stage", "patch", "changes"),
    [
        (Stage.BEFORE_TOOL, {"tool": None, "arguments": {"a": 1}}, {"arguments": {"a": 1}}),
        (Stage.BEFORE_TOOL, {"arguments": None}, {"arguments": {}}),
        (Stage.BEFORE_TOOL, {}, {}),
        (Stage.BEFORE_LLM, {"model": None, "messages": None, "tools": None, "options": None}, {}),
        (Stage.BEFORE_LLM, {"messages": [], "tools": []}, {"messages": (), "tools": ()}),
        (Stage.AFTER_LLM, {"content": None, "finish_reason": "stop"}, {"finish_reason": "stop"}),
        (Stage.AFTER_LLM, {"tool_calls": None}, {"tool_calls": ()}),
        (Stage.AFTER_TOOL, {"for_llm": None, "silent": True}, {"silent": True}),
        (Stage.AFTER_TOOL, {"for_llm": ""}, {"for_llm": "(no output)"}),
        (Stage.AFTER_TOOL, {"async": True, "media": ["a"]}, {"is_async": True, "media": ("a",)}),
    ],
)
def test_null_members_are_left_out_and_arguments_are_never_null(
    stage: Stage, patch: dict[str, Any], changes: dict[str, Any]
) -> None:
    assert parse_answer(stage, {"action": "modify", OBJECTS[stage][0]: patch}) == Modify(changes)


@pytest.mark.parametrize("name", ["meta", "channel", "chat_id", "context", "tool_call_id", "deadline_ms"])
@pytest.mark.parametrize("stage", INTERCEPTORS)
def test_members_that_cannot_be_changed_are_ignored_beside_one_that_can(stage: Stage, name: str) -> None:
    object_name, patch, changes = OBJECTS[stage]
    answer = parse_answer(stage, {"action": "modify", object_name: {name: {"AgentID": "evil"}, **patch}})
    assert answer == Modify(changes)


# --- respond ---


def test_respond_fills_what_was_left_out_and_is_never_empty() -> None:
    assert parse_answer(Stage.BEFORE_TOOL, {"action": "respond", "result": {}}) == Respond(ToolResult("(no output)"))
    answer = parse_answer(Stage.BEFORE_TOOL, {"action": "respond", "result": {"for_llm": "", "for_user": "u"}})
    assert answer == Respond(ToolResult("(no output)", "u"))


def test_respond_takes_every_member_of_a_result_and_a_call_beside_it() -> None:
    members = {"for_llm": "a", "for_user": "b", "silent": True, "is_error": True, "async": True, "media": ["m"]}
    rest = {"artifact_tags": ["t"], "response_handled": True, "error": {"kind": "stale", "op": "o", "reason": "r"}}
    answer = parse_answer(
        Stage.BEFORE_TOOL,
        {"action": "respond", "result": {**members, **rest}, "call": {"tool": "x", "arguments": {"n": 1}}},
    )
    result = ToolResult("a", "b", True, True, True, ("m",), ("t",), True, Fault("stale", "o", "r"))
    assert answer == Respond(result, {"name": "x", "arguments": {"n": 1}})


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"result": None},
        {"result": "text"},
        {"result": []},
        {"result": {"output": "x"}},
        {"result": {}, "call": []},
        {"result": {}, "call": {"tool": 5}},
        {"result": {}, "call": {"name": "x"}},
        {"result": {"for_llm": 5}},
    ],
)
def test_respond_without_a_usable_result_is_a_failure_and_never_runs_the_tool(members: dict[str, Any]) -> None:
    with pytest.raises(BadMessage):
        parse_answer(Stage.BEFORE_TOOL, {"action": "respond", **members})


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ({"text": "x"}, ReplyWith("x")),
        ({"text": None, "media": ["data:,x"]}, ReplyWith("", ("data:,x",))),
        ({"text": "x", "media": ["data:,x"], "kind": "unknown members are no harm"}, ReplyWith("x", ("data:,x",))),
    ],
)
def test_a_message_is_answered_with_text_and_media(reply: dict[str, Any], answer: ReplyWith) -> None:
    assert parse_answer(Stage.ON_MESSAGE, {"action": "respond", "reply": reply}) == answer


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"reply": None},
        {"reply": "text"},
        {"reply": {}},
        {"reply": {"text": ""}},
        {"reply": {"text": 5}},
        {"reply": {"content": "x"}},
        {"result": {"for_llm": "x"}},
    ],
)
def test_a_reply_that_says_nothing_is_a_failure(members: dict[str, Any]) -> None:
    with pytest.raises(BadMessage):
        parse_answer(Stage.ON_MESSAGE, {"action": "respond", **members})


def test_a_drop_tells_the_chat_what_the_hook_wants_it_to_read() -> None:
    assert parse_answer(Stage.ON_MESSAGE, {"action": "drop"}) == Drop("", None)
    assert parse_answer(Stage.ON_MESSAGE, {"action": "drop", "reason": "r", "tell": None}) == Drop("r", None)
    assert parse_answer(Stage.BEFORE_SEND, {"action": "drop", "reason": "r", "tell": ""}) == Drop("r", "")
    with pytest.raises(BadMessage, match=r"result\.tell must be a string"):
        parse_answer(Stage.BEFORE_SEND, {"action": "drop", "tell": True})


# --- approvals ---


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"approved": True}, Approve()),
        ({"approved": True, "reason": "fine"}, Approve()),
        ({"approved": True, "reason": None, "ask": None}, Approve()),
        ({"approved": True, "note": "unknown members are no harm"}, Approve()),
        ({"approved": False}, Refuse("")),
        ({"approved": False, "reason": "no"}, Refuse("no")),
        ({"approved": False, "reason": None}, Refuse("")),
        ({"reason": "no"}, Refuse("no")),
        ({"approved": False, "ask": {"title": "t"}}, Refuse("")),
        ({"ask": {}}, Ask()),
        ({"approved": True, "ask": {}}, Ask()),
        ({"approved": None, "ask": {}}, Ask()),
        ({"ask": {"title": None, "text": None, "approvers": None, "ttl_s": None}}, Ask()),
        ({"ask": {"title": "t", "text": "x", "approvers": ["a"], "ttl_s": 5}}, Ask("t", "x", ("a",), 5.0)),
        ({"ask": {"ttl_s": 0.5}}, Ask(ttl_s=0.5)),
    ],
)
def test_refuse_beats_ask_beats_approve(result: dict[str, Any], answer: Any) -> None:
    assert parse_answer(Stage.APPROVE_TOOL, result) == answer


@pytest.mark.parametrize("approved", [1, 0, "yes", "true", "", [], {}, 1.0])
def test_only_the_json_value_true_approves(approved: Any) -> None:
    with pytest.raises(BadMessage, match=r"result\.approved"):
        parse_answer(Stage.APPROVE_TOOL, {"approved": approved})


@pytest.mark.parametrize(
    "result",
    [
        {"Approved": True},
        {"approve": True},
        {"ok": True},
        {"action": "continue"},
        {"reason": "x", "allow": True},
        {"approved": True, "reason": 5},
        {"ask": True},
        {"ask": []},
        {"ask": {"ttl_s": 0}},
        {"ask": {"ttl_s": -1}},
        {"ask": {"ttl_s": "5"}},
        {"ask": {"approvers": "me"}},
        {"ask": {"approvers": [1]}},
        {"ask": {"title": 5}},
        {"ask": {"approver": ["boss"]}},
        {"ask": {"title": "t", "Required": 2}},
    ],
)
def test_a_malformed_approval_is_a_failure_and_so_never_an_approval(result: dict[str, Any]) -> None:
    with pytest.raises(BadMessage):
        parse_answer(Stage.APPROVE_TOOL, result)
