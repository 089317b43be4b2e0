"""A question read back from its params is the same question, and is asked with the same bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hookgate.check.golden import question
from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.asked import read_question
from hookgate.protocol.hook.stages import Stage, subject_members


@pytest.mark.parametrize("stage", Stage)
def test_a_question_is_read_back_from_its_params(stage: Stage) -> None:
    asked = question(stage)
    params: dict[str, Any] = decode(asked.framed_params(5.0)) | {"future": {"n": 2**70}}
    again = read_question(stage, params)
    assert decode(again.params) == {name: value for name, value in params.items() if name != "deadline_ms"}
    assert subject_members(again.subject) == subject_members(asked.subject)
    assert (again.step.chat, again.step.agent, again.tool) == (asked.step.chat, asked.step.agent, asked.tool)
    assert decode(again.framed_params(1.0))["deadline_ms"] == 1000


@pytest.mark.parametrize(
    ("stage", "params", "problem"),
    [
        (Stage.BEFORE_TOOL, {}, "arguments must be an object"),
        (Stage.BEFORE_TOOL, {"arguments": {}}, "params.tool must be a string"),
        (Stage.BEFORE_TOOL, {"tool": "x", "arguments": []}, "arguments must be an object, not an array"),
        (Stage.BEFORE_LLM, {"model": "m"}, "params.messages must be an array"),
        (Stage.AFTER_TOOL, {"tool": "x", "arguments": {}}, "result must be an object, not null"),
        (Stage.ON_MESSAGE, {"message": {"text": 1}}, "message.text must be a string"),
        (Stage.BEFORE_TOOL, {"tool": "x", "arguments": {}, "context": {"inbound": {"roles": 1}}}, "roles must be an"),
    ],
)
def test_what_is_no_question_says_why(stage: Stage, params: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadMessage, match=problem):
        read_question(stage, params)


def test_whose_account_it_is_is_read_back_too() -> None:
    asked = question(Stage.BEFORE_TOOL)
    said = replace(asked.step.inbound, chat=replace(asked.step.chat, sender="boss", account="user"))
    again = read_question(
        asked.stage, decode(replace(asked, step=replace(asked.step, inbound=said)).framed_params(5.0))
    )
    assert (again.step.chat.sender, again.step.chat.account) == ("boss", "user")
