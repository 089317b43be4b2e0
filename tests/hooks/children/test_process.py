"""What a hook process answers, and what a caller makes of it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from hookgate.protocol.hook.answers import CONTINUE, Approve, Failed, Modify, Refuse, Respond
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import LLMReply, ToolResult
from tests.hooks.doubles import CALL, REQUEST, STEP
from tests.hooks.processes import (
    DEADLINE_S,
    alive,
    ask,
    open_child,
    question,
    spec,
    told,
)

# --- answers ---


async def test_a_plain_hook_answers_every_stage() -> None:
    async with open_child() as child:
        assert await child.ask(Question(Stage.BEFORE_LLM, STEP, REQUEST), DEADLINE_S) == CONTINUE
        assert await child.ask(Question(Stage.AFTER_LLM, STEP, LLMReply("m", "x")), DEADLINE_S) == CONTINUE
        assert await child.ask(Question(Stage.BEFORE_TOOL, STEP, CALL), DEADLINE_S) == CONTINUE
        assert await child.ask(Question(Stage.APPROVE_TOOL, STEP, CALL), DEADLINE_S) == Approve()


async def test_calls_are_numbered_from_one_and_carry_their_deadline() -> None:
    async with open_child() as child:
        await ask(child, "answer", timeout_s=7.5, result={})
        hello, first, last = await told(child, "received")
    assert [(m["id"], m["method"], m["jsonrpc"]) for m in (hello, first, last)] == [
        (1, "hook.hello", "2.0"),
        (2, "hook.before_tool", "2.0"),
        (3, "hook.before_tool", "2.0"),
    ]
    assert 7000 <= first["params"]["deadline_ms"] <= 7500


@pytest.mark.parametrize(
    ("stage", "name", "result"),
    [
        (Stage.BEFORE_TOOL, "action", '{"action":"deny_tool","action":"continue"}'),
        (Stage.APPROVE_TOOL, "approved", '{"approved":false,"approved":true}'),
    ],
)
async def test_an_answer_with_a_member_twice_is_a_failure(stage: Stage, name: str, result: str) -> None:
    line = f'{{"jsonrpc":"2.0","id":{{id}},"result":{result}}}'
    async with open_child() as child:
        answer = await child.ask(question("lines", stage, lines=[line]), DEADLINE_S)
        assert answer == Failed(f"its answer has the member {name!r} twice")
        await alive(child)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"error": {"code": -1, "message": "boom"}}, "error -1: boom"),
        ({"error": "boom"}, "error: boom"),
        ({"error": {"code": -1, "message": "boom"}, "result": {"approved": True}}, "error -1: boom"),
        ({"result": []}, "result must be an object"),
        ({"result": 5}, "result must be an object"),
        ({"result": {"action": 5}}, "action must be a string"),
        ({"result": {"action": "explode"}}, "'explode' is not one of"),
        ({"result": {"decision": "deny"}}, "unknown member 'decision'"),
        ({"result": {"action": "modify"}}, "modify without 'call'"),
        ({"result": {"action": "respond"}}, "respond without 'result'"),
    ],
)
async def test_an_unusable_answer_is_a_failure_at_once(members: dict[str, Any], reason: str) -> None:
    async with open_child() as child:
        answer = await ask(child, "members", members=members)
        assert isinstance(answer, Failed)
        assert reason in answer.reason
        await alive(child)


async def test_an_empty_result_continues_and_refuses_at_approvals() -> None:
    async with open_child() as child:
        for members in ({}, {"result": None}, {"result": {}}):
            assert await ask(child, "members", members=members) == CONTINUE
            asked = question("members", Stage.APPROVE_TOOL, members=members)
            assert await child.ask(asked, DEADLINE_S) == Refuse("")


async def test_noise_between_answers_is_skipped_and_counted() -> None:
    noise = ["hello", "[]", "5", '"x"', "{", "{}", "\xff", "", '{"jsonrpc":"2.0","method":"log"}']
    async with open_child("noisy_start") as child:
        assert await told(child, "lines", lines=noise) == "after"
        assert child.noise == 2 + len(noise) - 1


async def test_a_reply_that_nobody_waits_for_is_dropped_and_counted() -> None:
    async with open_child() as child:
        assert await told(child, "wrong_ids") == "right"
        assert child.strays == 8
        assert await told(child, "twice") == "first"
        await alive(child)
        assert child.strays == 9


@pytest.mark.parametrize(("wrong", "shown"), [("2", '"2"'), (102, "102"), (None, "null"), ([2], "an array")])
async def test_a_call_that_waits_in_vain_says_what_came_under_another_id(wrong: object, shown: str) -> None:
    async with open_child() as child:
        await told(child, "wrong_ids")
        answer = await ask(child, "members", timeout_s=0.05, members={"id": wrong, "result": {}})
        came = f"this came meanwhile, which answers nothing: 'an answer to {shown}'"
        assert answer == Failed(f"no answer within 50 ms; {came}")
        assert await ask(child, "silent", timeout_s=0.05) == Failed("no answer within 50 ms")


async def test_a_late_answer_goes_to_nobody() -> None:
    async with open_child() as child:
        assert await ask(child, "late", timeout_s=0.05) == Failed("no answer within 50 ms")
        assert await told(child, "answer", result={"action": "respond", "result": {"for_llm": "5"}}) == 5
        assert child.strays == 1


async def test_a_request_from_the_hook_is_refused_and_answers_nothing() -> None:
    async with open_child() as child:
        found = await told(child, "request")
        assert found["error"]["code"] == -32601
        assert child.refused == 1


async def test_fifty_calls_in_flight_with_shuffled_replies_are_not_crossed() -> None:
    async with open_child() as child:
        found: dict[int, int] = {}

        async def one(n: int) -> None:
            found[n] = await told(child, "hold", n=n, until=50)

        async with trio.open_nursery() as nursery:
            for n in range(50):
                nursery.start_soon(one, n)
        assert found == {n: n for n in range(50)}
        assert child.strays == 0


async def test_a_megabyte_goes_there_and_back_exactly() -> None:
    text = "äx\n" * (1 << 18)
    async with open_child() as child:
        assert await ask(child, "echo", text=text, big=2**70) == Modify(
            {"arguments": {"do": "echo", "text": text, "big": 2**70}}
        )
        assert await ask(child, "big", size=1 << 20) == Respond(ToolResult("x" * (1 << 20)))


# --- lines over the cap ---


async def test_a_hundred_megabyte_answer_fails_its_call_and_the_next_one_works() -> None:
    async with open_child() as child:
        answer = await ask(child, "oversize", megabytes=100, named=True)
        assert isinstance(answer, Failed)
        assert answer.reason.endswith("is over the limit")
        await alive(child)


async def test_an_oversize_line_that_names_no_call_is_lost_alone() -> None:
    async with open_child(max_message_bytes=1 << 16) as child:
        assert await ask(child, "oversize", timeout_s=0.3, megabytes=2, named=False) == Failed(
            "no answer within 300 ms"
        )
        assert await ask(child, "big", size=1 << 15) == Respond(ToolResult("x" * (1 << 15)))


# --- the child's surroundings ---


async def test_a_hook_sees_the_environment_it_is_given_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", "secret")
    environment = {"PATH": "/usr/bin", "MINE": "1"}
    async with open_child(directory=str(tmp_path), environment=environment) as child:
        where = await told(child, "where")
    # The interpreter itself may add its locale.
    assert {name: value for name, value in where["env"].items() if name != "LC_CTYPE"} == environment
    assert Path(where["cwd"]).name == tmp_path.name


async def test_a_hook_leads_its_own_group_and_session() -> None:
    async with open_child() as child:
        where = await told(child, "where")
    assert where["pid"] == where["group"] == where["session"] == child.pid
    assert where["group"] != os.getpgid(0)


async def test_arguments_reach_the_hook_as_they_are_and_pass_no_shell() -> None:
    odd = ["$HOME", "a b", "*", ";true", "ä"]
    command = (*spec().command, json.dumps({"ok": True}), *odd)
    async with open_child(command=command) as child:
        assert (await told(child, "where"))["argv"][2:] == odd


async def test_a_relative_command_is_found_in_its_directory(tmp_path: Path) -> None:
    program = tmp_path / "hook"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "{spec().command[3]}"\n')
    program.chmod(0o755)
    async with open_child(command=("./hook",), directory=str(tmp_path)) as child:
        await alive(child)


async def test_a_hook_that_leaves_out_where_it_is_configured_to_stand_is_warned_of_in_words() -> None:
    hello = {"stages": ["approve_tool", "before_tool", "after_tool"]}
    with capture_logs() as lines:
        async with open_child(hello=hello):
            pass
    line = next(line for line in lines if line["event"] == "hook_declines_stages")
    told = "it leaves out before_llm, after_llm, where it is configured to stand"
    assert (line["reason"], line["log_level"]) == (told, "warning")
