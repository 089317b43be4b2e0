"""Every way an endpoint can be bad: the chat gets one plain line or the answer, and the conversation goes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from hookgate.protocol.events.payloads import LlmRetry
from tests.flow.gateway import open_flow
from tests.loop.recording import is_valid
from tests.model_server import Answer, calls, cut, fails, says

BODY = "Traceback: /srv/secret/path line 1\nsecond line"


@dataclass(frozen=True)
class Row:
    """`line` begins the one line in the chat; `asked` counts the requests of that turn."""

    answers: tuple[Answer, ...]
    line: str
    asked: int


FAILURES = {
    "400": Row((fails(400, "bad field"),), "The model call failed (format): p: 127.0.0.1", 1),
    "400 overflow": Row(
        (fails(400, "maximum context length is 8192 tokens"),), "The model call failed (overflow): p: 127.0.0.1", 1
    ),
    "401": Row((fails(401, "bad key"),), "The model call failed (auth): p: 127.0.0.1", 1),
    "402": Row((fails(402, "no money"),), "The model call failed (billing): p: 127.0.0.1", 1),
    "429": Row((fails(429, "slow down", ("Retry-After", "0")),) * 3, "The model call failed (rate_limit): p: ", 3),
    "429 for long": Row(
        (fails(429, "slow", ("Retry-After", "86400")),), "The model call failed (rate_limit): p: ", 1
    ),
    "500": Row((fails(500, BODY),) * 3, "The model call failed (server): p: 127.0.0.1", 3),
    "no JSON": Row((Answer((b"<html>" * 99,), 502, "text/html"),) * 3, "The model call failed (server): p: ", 3),
    "empty": Row((says(), says()), "The model call failed (empty): p: 127.0.0.1", 2),
    "cut": Row((cut(says("One ", "two"), 2),) * 3, "The model call failed (network): p: 127.0.0.1", 3),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_a_bad_endpoint_is_one_plain_line_and_the_next_message_is_answered(tmp_path: Path, name: str) -> None:
    row = FAILURES[name]
    async with open_flow(tmp_path, "", (*row.answers, says("I am back."))) as flow:
        [line] = await flow.say("hello")
        assert line.startswith(row.line)
        assert "\n" not in line
        assert len(line) < 400
        assert flow.room.sent[0].kind == "error"
        assert len(flow.server.requests) == row.asked
        # What was read of an answer before it broke off stays.
        assert [message.role for message in flow.messages] == ["user", "assistant"][: 1 + (name == "cut")]
        assert await flow.say("and now?") == ["I am back."]
        assert is_valid(flow.messages)


PASSING = {
    "429": fails(429, "slow down", ("Retry-After", "0.05")),
    "500": fails(500, "oops"),
    "empty": says(),
    "cut": cut(says("Half ", "an answer"), 2),
}


@pytest.mark.parametrize("name", PASSING)
async def test_a_failure_that_passes_is_tried_again_and_the_answer_comes_once(tmp_path: Path, name: str) -> None:
    async with open_flow(tmp_path, "", (PASSING[name], says("A ", "whole answer."))) as flow:
        assert await flow.say("hello") == ["A whole answer."]
        [retry] = [event.payload for event in flow.named("llm_retry")]
        assert isinstance(retry, LlmRetry)
        assert flow.server.requests[0].body == flow.server.requests[1].body
    if name == "429":
        assert retry.Backoff == 50_000_000
    if name == "cut":
        assert flow.room.streamed == "Half <again>A whole answer."


CALLS = {
    "malformed arguments": (("1", "ls", '{"path": "a" "b"}'), "ERROR (validation) ls: "),
    "cut arguments": (
        ("1", "write", '{"path": "a", "content": "ha'),
        "ERROR (validation) write: your arguments were cut",
    ),
    "wrong arguments": (("1", "ls", '{"path": 5}'), "ERROR (validation) ls: invalid args:"),
    "no object": (("1", "ls", '"."'), "ERROR (validation) ls: the arguments must be a JSON object"),
    "unknown tool": (("1", "lss", "{}"), "ERROR (not_found) lss: there is no tool named 'lss'"),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_call_that_makes_no_sense_is_told_to_the_model_which_then_answers(tmp_path: Path, name: str) -> None:
    call, told = CALLS[name]
    async with open_flow(tmp_path, "", (calls(call), says("Sorry."))) as flow:
        assert await flow.say("go") == ["Sorry."]
        assert flow.results()[0].startswith(told)
        assert is_valid(flow.messages)
        sent = flow.server.requests[1].body["messages"][-1]
        assert (sent["role"], sent["tool_call_id"]) == ("tool", "1")


async def test_two_hundred_calls_at_once_all_get_their_results_in_order(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"{number}.txt").write_text(f"file {number}")
    wanted = [(f"c{n}", "read", f'{{"path": "{n}.txt"}}') for n in range(200)]
    async with open_flow(tmp_path, "", (calls(*wanted), says("All read."))) as flow:
        assert await flow.say("read them") == ["All read."]
        results = [message for message in flow.messages if message.role == "tool"]
        assert [message.tool_call_id for message in results] == [f"c{n}" for n in range(200)]
        assert all(f"file {n}" in message.content for n, message in enumerate(results))
        assert flow.runtime.agent.tally.executed == 200


async def test_calls_under_the_same_id_get_a_result_each(tmp_path: Path) -> None:
    twins = calls(("same", "ls", "{}"), ("same", "ls", "{}"), ("", "ls", "{}"))
    async with open_flow(tmp_path, "", (twins, says("x"))) as flow:
        await flow.say("go")
        assert len(flow.results()) == 3
        assert is_valid(flow.messages)
