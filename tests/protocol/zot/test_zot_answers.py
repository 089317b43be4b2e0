"""What extensions' answers mean: blocks to results, interceptions to verdicts, commands to effects."""

from __future__ import annotations

from base64 import b64encode

import pytest

from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer, Deny, Failed, Modify
from hookgate.protocol.values import Fault, LLMRequest, Message, ToolResult
from hookgate.protocol.zot.answers import (
    CommandAnswer,
    command_answer,
    judged_call,
    judged_message,
    judged_turn,
    prompt_problem,
    system_prompt,
    with_system_prompt,
)
from hookgate.protocol.zot.blocks import tool_failed, tool_result
from hookgate.protocol.zot.frames import Block, CommandReply, InterceptReply, Panel, ToolReply

PNG = b64encode(b"png").decode()
UNDECODABLE = "extension e/t returned undecodable image: "


def _result(*blocks: Block, is_error: bool = False) -> ToolResult:
    return tool_result("e", "t", ToolReply("1", blocks, is_error))


@pytest.mark.parametrize(
    ("blocks", "text", "media"),
    [
        ([Block("text", "a")], "a", ()),
        ([Block("text", "a"), Block("text", ""), Block("text", "b")], "a\nb", ()),
        ([], "(extension returned no content)", ()),
        ([Block("text", "")], "(extension returned no content)", ()),
        ([Block("video", "x")], '[unknown block type "video" from extension e]', ()),
        ([Block("", "x")], '[unknown block type "" from extension e]', ()),
        ([Block("image", "", "image/gif", PNG)], "(1 image)", (f"data:image/gif;base64,{PNG}",)),
        ([Block("text", "a"), Block("image", "", "", PNG)], "a", (f"data:image/png;base64,{PNG}",)),
    ],
)
def test_blocks_become_text_and_media(blocks: list[Block], text: str, media: tuple[str, ...]) -> None:
    assert _result(*blocks) == ToolResult(text, media=media)


@pytest.mark.parametrize("data", ["", "!!", "AAA", "A A="])
def test_an_image_that_cannot_be_decoded_is_an_error(data: str) -> None:
    result = _result(Block("text", "a"), Block("image", "", "image/png", data))
    assert result.is_error
    assert result.for_llm.startswith(f"a\n{UNDECODABLE}")
    assert result.media == ()


def test_an_error_keeps_its_own_text() -> None:
    assert _result(Block("text", "city is required"), is_error=True) == ToolResult(
        "city is required", is_error=True, error=Fault("unknown", "t", "city is required")
    )
    late = tool_failed("e", Fault("transient", "t", "timeout waiting for e/t", timed_out=True))
    text = "extension e/t failed: timeout waiting for e/t"
    assert late == ToolResult(text, is_error=True, error=Fault("transient", "t", text, timed_out=True))


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (InterceptReply("1"), CONTINUE),
        (InterceptReply("1", reason="no block"), CONTINUE),
        (InterceptReply("1", True, "guard refused"), Deny("guard refused", bare=True)),
        (InterceptReply("1", True), Deny("tool call refused by extension guard", bare=True)),
        (InterceptReply("1", modified_args={"a": 1}), Modify({"arguments": {"a": 1}})),
        (InterceptReply("1", modified_args={}), Modify({"arguments": {}})),
        (InterceptReply("1", True, "r", {"a": 1}), Deny("r", bare=True)),
        (InterceptReply("1", True, "r", problem="p"), Deny("r", bare=True)),
        (InterceptReply("1", problem="p"), Failed("p", closes=True)),
    ],
)
def test_a_call_is_passed_blocked_or_changed(reply: InterceptReply, answer: Answer) -> None:
    assert judged_call(reply) == answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (InterceptReply("1", replace_text="x"), CONTINUE),
        (InterceptReply("1", True, "enough"), Abort("enough")),
        (InterceptReply("1", True), Abort("turn blocked by extension guard")),
    ],
)
def test_a_turn_is_passed_or_blocked(reply: InterceptReply, answer: Answer) -> None:
    assert judged_turn(reply) == answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (InterceptReply("1"), CONTINUE),
        (InterceptReply("1", replace_text=""), CONTINUE),
        (InterceptReply("1", replace_text="***"), Modify({"shown": "***"})),
        (InterceptReply("1", True, "pii"), Modify({"shown": "", "withheld_by": "e withheld the reply: pii"})),
        (
            InterceptReply("1", True, "", None, "***"),
            Modify({"shown": "", "withheld_by": "e withheld the reply"}),
        ),
    ],
)
def test_of_a_message_only_what_is_shown_changes(reply: InterceptReply, answer: Answer) -> None:
    assert judged_message(reply, "e") == answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (CommandReply("1", "prompt", prompt="go"), CommandAnswer("prompt", "go")),
        (CommandReply("1", "prompt", prompt=" \n"), CommandAnswer("noop")),
        (CommandReply("1", "insert", insert="x"), CommandAnswer("insert", "x")),
        (CommandReply("1", "display", display="x"), CommandAnswer("display", "x")),
        (CommandReply("1", "open_panel", panel=Panel("p")), CommandAnswer("open_panel", panel=Panel("p"))),
        (CommandReply("1", "open_panel"), CommandAnswer("error", "extension /n: open_panel without a panel")),
        (CommandReply("1", "noop", display="x"), CommandAnswer("noop")),
        (CommandReply("1"), CommandAnswer("noop")),
        (CommandReply("1", "dance"), CommandAnswer("error", "extension /n: unknown action dance")),
        (CommandReply("1", "prompt", prompt="go", error="no"), CommandAnswer("error", "extension /n: no")),
    ],
)
def test_a_command_leads_to_one_effect(reply: CommandReply, answer: CommandAnswer) -> None:
    assert command_answer("n", reply) == answer


USER = Message("user", "hi")


@pytest.mark.parametrize(
    ("messages", "prompt", "after"),
    [
        ((Message("system", "a"), USER), "b", (Message("system", "b"), USER)),
        ((Message("system", "a"), USER), "", (USER,)),
        ((USER,), "b", (Message("system", "b"), USER)),
        ((USER,), "", (USER,)),
        ((), "b", (Message("system", "b"),)),
    ],
)
def test_a_system_prompt_takes_the_place_of_the_first_message(
    messages: tuple[Message, ...], prompt: str, after: tuple[Message, ...]
) -> None:
    request = LLMRequest("p/m", messages)
    assert with_system_prompt(request, prompt) == after
    assert system_prompt(LLMRequest("p/m", after)) == prompt


def test_a_system_prompt_has_a_limit() -> None:
    assert prompt_problem("x" * 1_000_000) == ""
    assert prompt_problem("x" * 1_048_576) == "system_prompt is over 1048576 bytes"
    assert prompt_problem("é" * 600_000) != ""
