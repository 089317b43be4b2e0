"""The requests that a v1 hook sees, compared with golden lines member by member."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookgate.protocol.chat import Chat, ChatMessage, Inbound
from hookgate.protocol.hook import stages
from hookgate.protocol.hook.hello import hello_params
from hookgate.protocol.hook.peer import Peer, notification_frame, request_frame
from hookgate.protocol.hook.stages import Question, Stage, Subject
from hookgate.protocol.values import (
    Decode,
    Fault,
    Finished,
    LLMReply,
    LLMRequest,
    Message,
    ProposedCall,
    Step,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)

LINES = (Path(__file__).parents[1] / "golden" / "requests.jsonl").read_text().splitlines()
GOLDEN: dict[str, dict[str, Any]] = {json.loads(line)["method"]: json.loads(line) for line in LINES}

CHAT = Chat("telegram", "-42", sender="501", chat_type="group", thread="7")
STEP = Step("main", "main-turn-3", Inbound(CHAT, "How full is the disk?", message_id="88"))
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
CALL = ToolCall("call_1", "bash", {"command": "df -h /"})
SUBJECTS: dict[Stage, Subject] = {
    Stage.ON_MESSAGE: ChatMessage("How full is the disk?", ("https://example.org/disk.png",), message_id="88"),
    Stage.BEFORE_LLM: LLMRequest(
        "gpt-4o-mini",
        (Message("system", "You look after one server."), Message("user", "How full is the disk?")),
        (ToolSpec("bash", "run one command", SCHEMA),),
        {"temperature": 0.7, "max_tokens": 4096},
    ),
    Stage.AFTER_LLM: LLMReply(
        "gpt-4o-mini", "", (ProposedCall("call_1", "bash", '{"command":"df -h /"}'),), finish_reason=""
    ),
    Stage.BEFORE_TOOL: CALL,
    Stage.APPROVE_TOOL: CALL,
    Stage.AFTER_TOOL: Finished(CALL, ToolResult("/dev/sda1 61% used"), 18_000_000),
    Stage.BEFORE_SEND: ChatMessage("61 % of it is used.", kind="answer", in_reply_to="88"),
}


def _params(stage: Stage, subject: Subject, step: Step = STEP) -> dict[str, Any]:
    return json.loads(Question(stage, step, subject).framed_params(5))


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_request_is_the_golden_line(stage: Stage) -> None:
    golden = GOLDEN[stage.method]
    params = Question(stage, STEP, SUBJECTS[stage]).framed_params(golden["params"]["deadline_ms"] / 1000)
    line = request_frame(golden["id"], stage.method, params)
    assert line.count(b"\n") == 1
    assert json.loads(line) == golden


@pytest.mark.parametrize("stage", Stage)
def test_the_members_stand_in_the_order_of_the_golden_line(stage: Stage) -> None:
    assert list(_params(stage, SUBJECTS[stage])) == list(GOLDEN[stage.method]["params"])


def test_hello_is_the_golden_line() -> None:
    golden = GOLDEN["hook.hello"]
    offered = frozenset(Stage(name) for name in golden["params"]["stages"])
    assert json.loads(request_frame(1, "hook.hello", hello_params("py_review_gate", offered, True))) == golden


def test_cancel_is_the_golden_line() -> None:
    assert notification_frame("hook.cancel", b'{"id":5}') == LINES[-1].encode() + b"\n"


def test_the_params_of_a_question_are_encoded_once() -> None:
    question = Question(Stage.BEFORE_TOOL, STEP, ToolCall("c", "write", {"content": "x" * 10_000}))
    assert question.params_parts(1.2345)[1] is question.params_parts(0.0)[1]
    assert json.loads(question.framed_params(1.2345))["deadline_ms"] == 1234
    assert json.loads(question.framed_params(0.0))["deadline_ms"] == 0


@pytest.mark.parametrize("stage", Stage)
def test_a_line_is_the_same_in_one_piece_and_in_several(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    _id, short = Peer().request(stage.method, Question(stage, STEP, SUBJECTS[stage]).params_parts(5))
    monkeypatch.setattr(stages, "SHORT_BYTES", 0)
    _id, long = Peer().request(stage.method, Question(stage, STEP, SUBJECTS[stage]).params_parts(5))
    assert (len(short), len(long)) == (1, 6)
    assert short[0] == b"".join(long)


def test_empty_members_of_inbound_are_left_out_and_meta_is_always_whole() -> None:
    step = Step("main", "t", Inbound(Chat("cli", "me"), "hi"), iteration=2, parent_turn_id="p")
    params = _params(Stage.BEFORE_TOOL, CALL, step)
    assert params["context"] == {"inbound": {"channel": "cli", "chat_id": "me", "chat_type": "direct"}}
    assert params["meta"]["SessionKey"] == "cli:me"
    assert (params["meta"]["Iteration"], params["meta"]["ParentTurnID"]) == (2, "p")


@pytest.mark.parametrize("stage", [Stage.BEFORE_TOOL, Stage.APPROVE_TOOL, Stage.AFTER_TOOL])
def test_how_a_call_was_read_is_told_only_where_it_was_not_plain(stage: Stage) -> None:
    call = replace(CALL, origin="text", decode=Decode(("quotes",), truncated=True))
    subject = Finished(call, ToolResult("x"), 1) if stage is Stage.AFTER_TOOL else call
    found = _params(stage, subject)["context"]
    assert found["origin"] == "text"
    assert found["decode"] == {"steps": ["quotes"], "truncated": True, "guessed": False}


def test_a_reply_shows_what_it_has_and_no_more() -> None:
    reply = LLMReply("m", "hi", finish_reason="stop", usage=Usage(3, 4), reasoning="because")
    assert _params(Stage.AFTER_LLM, reply)["response"] == {
        "role": "assistant",
        "content": "hi",
        "tool_calls": [],
        "finish_reason": "stop",
        "reasoning_content": "because",
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }


def test_a_failed_result_says_what_failed() -> None:
    result = ToolResult("ERROR", is_error=True, error=Fault("permission", "bash", "no", "hook:guard"))
    error = _params(Stage.AFTER_TOOL, Finished(CALL, result, 1))["result"]["error"]
    assert error == {"kind": "permission", "op": "bash", "reason": "no", "denied_by": "hook:guard"}


def test_integers_of_any_size_reach_the_hook_unchanged() -> None:
    found = _params(Stage.BEFORE_TOOL, replace(CALL, arguments={"n": 2**70, "m": 2**53 + 1}))
    assert found["arguments"] == {"n": 2**70, "m": 2**53 + 1}


@pytest.mark.parametrize("stage", Stage)
def test_a_question_knows_its_tool_and_its_model(stage: Stage) -> None:
    question = Question(stage, replace(STEP, model="openai/x"), SUBJECTS[stage])
    assert question.tool == ("bash" if "tool" in stage else "")
    assert question.model == ("gpt-4o-mini" if "llm" in stage else "openai/x")
