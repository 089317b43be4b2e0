"""The objects inside answers: the two shapes of after_llm and after_tool, and what an echo reads as."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.answers import (
    Modify,
    parse_answer,
)
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.hook.wire import message_members, reply_members, result_members, tool_members
from hookgate.protocol.values import Fault, LLMReply, LLMRequest, Message, ProposedCall, ToolResult, ToolSpec

# --- the two shapes of after_llm and after_tool ---


@pytest.mark.parametrize("around", [{}, {"meta": {}, "model": "a/b", "channel": "x"}])
def test_after_llm_takes_the_nested_and_the_flat_response(around: dict[str, Any]) -> None:
    inner = {"content": "new", "tool_calls": []}
    changes = Modify({"content": "new", "tool_calls": ()})
    assert parse_answer(Stage.AFTER_LLM, {"action": "modify", "response": {**around, "response": inner}}) == changes
    assert parse_answer(Stage.AFTER_LLM, {"action": "modify", "response": {**around, **inner}}) == changes


@pytest.mark.parametrize("around", [{}, {"meta": {}, "tool": "t", "arguments": {}, "duration": 5}])
def test_after_tool_takes_the_nested_and_the_flat_result(around: dict[str, Any]) -> None:
    inner = {"for_llm": "new", "is_error": False}
    changes = Modify({"for_llm": "new", "is_error": False})
    assert parse_answer(Stage.AFTER_TOOL, {"action": "modify", "result": {**around, "result": inner}}) == changes
    assert parse_answer(Stage.AFTER_TOOL, {"action": "modify", "result": {**around, **inner}}) == changes


@pytest.mark.parametrize(("stage", "name"), [(Stage.AFTER_LLM, "response"), (Stage.AFTER_TOOL, "result")])
@pytest.mark.parametrize("wrong", [{}, {"meta": {}}, {"text": "x"}])
def test_neither_shape_is_a_failure(stage: Stage, name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadMessage):
        parse_answer(stage, {"action": "modify", name: wrong})


# --- echoes ---

REQUEST = LLMRequest(
    "openai/gpt",
    (
        Message("system", "be good"),
        Message("user", "look", media=("data:image/png;base64,AAAA",)),
        Message("assistant", "", tool_calls=(ProposedCall("c1", "bash", '{"a": 1}'),), reasoning="hm"),
        Message("tool", "out", tool_call_id="c1", is_error=True),
        Message("tool", "more", tool_call_id="c2", is_error=False),
    ),
    (ToolSpec("bash", "runs", {"type": "object", "properties": {"n": {"const": 2**70}}}, provider=""),),
    {"temperature": 0.7, "max_tokens": 4096},
)


def _again(members: dict[str, Any]) -> Any:
    return decode(encode(members))


def test_an_echoed_request_reads_as_the_values_it_was_made_from() -> None:
    members = {
        "model": REQUEST.model,
        "messages": [message_members(m) for m in REQUEST.messages],
        "tools": [tool_members(t) for t in REQUEST.tools],
        "options": REQUEST.options,
    }
    answer = parse_answer(Stage.BEFORE_LLM, {"action": "modify", "request": _again(members)})
    assert isinstance(answer, Modify)
    assert answer.changes["messages"] == REQUEST.messages
    assert [(t.name, t.parameters) for t in answer.changes["tools"]] == [("bash", REQUEST.tools[0].parameters)]
    assert (answer.changes["model"], answer.changes["options"]) == (REQUEST.model, REQUEST.options)


def test_an_echoed_response_reads_as_the_reply_it_was_made_from() -> None:
    reply = LLMReply("openai/gpt", "hi", (ProposedCall("c1", "bash", "{}"),), "tool_calls", reasoning="why")
    answer = parse_answer(Stage.AFTER_LLM, {"action": "modify", "response": _again(reply_members(reply))})
    assert isinstance(answer, Modify)
    assert all(getattr(reply, name) == value for name, value in answer.changes.items())
    assert set(answer.changes) == {"content", "tool_calls", "finish_reason", "reasoning"}


def test_an_echoed_result_reads_as_the_result_it_was_made_from() -> None:
    error = Fault("permission", "bash", "no", "os")
    result = ToolResult("a", "b", True, True, True, ("m",), ("t",), True, error)
    answer = parse_answer(Stage.AFTER_TOOL, {"action": "modify", "result": _again(result_members(result))})
    assert isinstance(answer, Modify)
    assert {name: getattr(result, name) for name in answer.changes} == dict(answer.changes)
    assert len(answer.changes) == 9


@pytest.mark.parametrize(
    ("content", "text", "media"),
    [
        (None, "", ()),
        ([], "", ()),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb", ()),
        ([{"type": "image_url", "image_url": {"url": "http://x/y"}}], "", ("http://x/y",)),
    ],
)
def test_message_content_may_be_null_or_a_list_of_parts(content: Any, text: str, media: tuple[str, ...]) -> None:
    messages = [{"role": "user", "content": content}]
    answer = parse_answer(Stage.BEFORE_LLM, {"action": "modify", "request": {"messages": messages}})
    assert answer == Modify({"messages": (Message("user", text, media=media),)})


def test_arguments_of_a_proposed_call_may_be_an_object() -> None:
    call = {"id": "c", "function": {"name": "x", "arguments": {"n": 2**70}}}
    answer = parse_answer(Stage.AFTER_LLM, {"action": "modify", "response": {"tool_calls": [call]}})
    assert answer == Modify({"tool_calls": (ProposedCall("c", "x", f'{{"n":{2**70}}}'),)})
