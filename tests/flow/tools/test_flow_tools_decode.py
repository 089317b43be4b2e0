"""What a model writes, on its way to a call: what is cut, guessed, quoted or thought never changes anything."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookgate.protocol.events.payloads import ToolExecSkipped, ToolExecStart
from hookgate.protocol.hook.stages import Stage
from tests.flow.tools.tooling import Made, Rig, open_rig
from tests.model_server import DONE, Answer, calls, chunk, event, events, says, usage

ALL = 'text_tool_calls = "all"'
WRITE = {"path": "a.txt", "content": "x"}
TAG = f"<tool_call>{json.dumps({'name': 'change', 'arguments': WRITE})}</tool_call>"


def cut_off(answer: Answer) -> Answer:
    """The same reply, with the endpoint's word that it hit the length limit."""
    finish = b'"finish_reason": "%s"'
    swap = (finish % b"tool_calls", finish % b"stop")
    pieces = (piece.replace(swap[0], finish % b"length") for piece in answer.pieces)
    return replace(answer, pieces=tuple(piece.replace(swap[1], finish % b"length") for piece in pieces))


def pair() -> tuple[Made, Made]:
    return Made("change"), Made("look", reads=True)


UNSAFE: dict[str, Answer] = {
    "cut in a string": calls(("1", "change", '{"path": "a.txt", "content": "ha')),
    "cut in a number": calls(("1", "change", '{"path": "a.txt", "count": 15')),
    "cut after a comma": calls(("1", "change", '{"path": "a.txt",')),
    "cut at once": calls(("1", "change", "{")),
    "cut and encoded twice": calls(("1", "change", json.dumps('{"path": "a.txt", "content": "ha'))),
    "whole, but the reply hit its limit": cut_off(calls(("1", "change", json.dumps(WRITE)))),
    "blank, and the reply hit its limit": cut_off(calls(("1", "change", ""))),
    "one of several, and the reply hit its limit": cut_off(calls(("1", "change", "{}"), ("2", "change", "{}"))),
    "a whole tag, and the reply hit its limit": cut_off(says(f"I do it. {TAG} And th")),
    "a tag without its end, and the reply hit its limit": cut_off(says(TAG.removesuffix("</tool_call>"))),
    "a cut tag": says(TAG[:-30]),
    "a tag with cut string arguments": says(
        f"<tool_call>{json.dumps({'name': 'change', 'arguments': json.dumps(WRITE)[:-5]})}</tool_call>"
    ),
    "swapped closers": calls(("1", "change", '{"a": [1}]')),
    "a bare word": calls(("1", "change", '{"a": b}')),
    "two objects": calls(("1", "change", '{"a": 1}{"b": 2}')),
    "an array of an object": calls(("1", "change", '[{"a": 1}]')),
    "no finite number": calls(("1", "change", '{"a": 1e999}')),
}


@pytest.mark.parametrize("name", UNSAFE)
async def test_what_is_cut_or_guessed_never_changes_anything(tmp_path: Path, name: str) -> None:
    change, look = pair()
    async with open_rig(tmp_path, (UNSAFE[name], says("x"), says("x")), agent=ALL, tools=(change, look)) as rig:
        await rig.say("go")
        assert change.seen == []
        assert rig.runtime.agent.tally.calls == 0


QUOTED = {
    "thinking": f"<think>{TAG}</think>No.",
    "thinking to the end": f"<think>Perhaps {TAG}",
    "thinking without its opener": f"I might say {TAG}</think>No.",
    "inline code": f"Write `{TAG}` to change it.",
    "a fence in between": f"Like this:\n```xml\n{TAG}\n```\nShall I?",
    "a fence of json in between": f"Like:\n```json\n{json.dumps({'name': 'change', 'arguments': WRITE})}\n```\nOk?",
    "a string inside a call": f"<tool_call>{json.dumps({'name': 'look', 'arguments': {'text': TAG}})}</tool_call>",
    "an argument called name": '<tool_call>{"name": "look", "arguments": {"name": "change", "x": {}}}</tool_call>',
    "an object inside an object": json.dumps({"a": {"tool_calls": [{"name": "change", "arguments": {}}]}}),
    "a protocol object with a brace too many": '{"tool_calls": [{"name": "look", "arguments": {"name": "change"}}]}}',
    "a name nobody declared": '<tool_call>{"name": "chang", "arguments": {"name": "change"}}</tool_call>',
    "prose about it": 'The key "tool_calls" holds {"name": "change"}.',
}


@pytest.mark.parametrize("name", QUOTED)
async def test_nothing_in_a_string_an_example_or_a_thought_is_called(tmp_path: Path, name: str) -> None:
    change, look = pair()
    async with open_rig(tmp_path, (says(QUOTED[name]), says("x"), says("x")), agent=ALL, tools=(change, look)) as rig:
        await rig.say("go")
        assert change.seen == []


async def test_reasoning_beside_the_text_is_never_searched(tmp_path: Path) -> None:
    thinks = events(chunk({"reasoning_content": TAG}), chunk({"content": "No."}), chunk({}, "stop"), usage(1, 1))
    change, look = pair()
    async with open_rig(tmp_path, (thinks,), agent=ALL, tools=(change, look)) as rig:
        assert await rig.say("go") == ["No."]
        assert change.seen == []


async def test_text_of_a_tool_or_a_user_is_never_searched(tmp_path: Path) -> None:
    async def quotes(_call: object) -> str:
        return TAG

    change, _ = pair()
    look = Made("look", quotes, reads=True)
    async with open_rig(tmp_path, (calls(("1", "look", "{}")), says("x")), agent=ALL, tools=(change, look)) as rig:
        await rig.say(TAG)
        assert len(look.seen) == 1
        assert change.seen == []


@pytest.mark.parametrize("size", [1, 2, 5, 11])
async def test_a_tag_that_comes_in_small_pieces_is_one_call_and_is_never_shown(tmp_path: Path, size: int) -> None:
    text = f"I do it.\n{TAG}"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    change, look = pair()
    async with open_rig(tmp_path, (says(*pieces), says("Done.")), tools=(change, look)) as rig:
        assert await rig.say("go") == ["Done."]
        assert [call.arguments for call in change.seen] == [WRITE]
        assert rig.room.streamed.split("|")[0].strip() == "I do it."
        assert [start.Origin for start in rig.payloads(ToolExecStart)] == ["text"]


async def test_a_read_only_call_runs_with_what_had_come_and_hooks_know_it_was_cut(tmp_path: Path) -> None:
    change, look = pair()
    replies = (calls(("1", "look", '{"a": 1, "b": "ha')), says("x"))
    async with open_rig(tmp_path, replies, tools=(change, look)) as rig:
        await rig.say("go")
        assert [call.arguments for call in look.seen] == [{"a": 1, "b": "ha"}]
        [asked] = rig.asked(Stage.BEFORE_TOOL)
        assert json.loads(asked)["context"]["decode"]["truncated"] is True


def history(rig: Rig, request: int = 1) -> list[str]:
    """The arguments of the calls that a later request repeats to the model."""
    messages: list[dict[str, Any]] = rig.server.requests[request].body["messages"]
    return [call["function"]["arguments"] for it in messages for call in it.get("tool_calls", ())]


ODD = {
    "nothing": "",
    "encoded twice": '"{\\"a\\": 1}"',
    "a comma too many": '{"a": 1,}',
    "a raw line end": '{"a": "x\ny"}',
    "single quotes": "{'a': 1}",
    "an object in prose": 'Here: {"a": 1} ok',
    "cut": '{"a": 1, "b": "ha',
    "unreadable": '{"a" "b"}',
    "an array": "[1]",
    "a blank": "  ",
    "null": "null",
    "a byte order mark": '\ufeff{"a": 1}',
    "half a surrogate pair": '{"a": "\\ud83d"}',
    "deep": "[" * 100_000,
    "deep objects": '{"a":' * 100_000,
    "deep with an escape": '{"a":' * 100_000 + '"\\u0041"',
    "long": json.dumps({"a": "x" * (1024 * 1024 + 1)}),
    "long and broken": '{"a": "' + "x\n" * (1024 * 1024),
    "many braces": "{" * (1024 * 1024 + 1),
}


@pytest.mark.parametrize("name", ODD)
async def test_whatever_a_model_writes_the_history_holds_plain_json_objects(tmp_path: Path, name: str) -> None:
    change, look = pair()
    async with open_rig(tmp_path, (calls(("1", "look", ODD[name])), says("x")), tools=(change, look)) as rig:
        assert await rig.say("go") == ["x"]
        [written] = history(rig)
        assert isinstance(json.loads(written), dict)
        assert "\\ud83d" not in written
        assert len(rig.results()) == 1
        assert len(rig.results()[0]) < 2000


@pytest.mark.parametrize("text", ["{" * 200_000, "[" * 200_000, "<tool_call>" * 20_000, "```\n" * 40_000])
async def test_a_hostile_text_is_an_answer_like_any_other(tmp_path: Path, text: str) -> None:
    change, look = pair()
    async with open_rig(tmp_path, (says(text), says("x"), says("x")), agent=ALL, tools=(change, look)) as rig:
        assert len(await rig.say("go")) == 1
        assert change.seen == look.seen == []


async def test_arguments_that_differ_by_a_repair_are_told_to_be_so(tmp_path: Path) -> None:
    change, look = pair()
    async with open_rig(tmp_path, (calls(("1", "change", '{"a": 1,}')), says("x")), tools=(change, look)) as rig:
        await rig.say("go")
        assert change.seen[0].arguments == {"a": 1}
        assert [start.Decode for start in rig.payloads(ToolExecStart)] == [
            {"steps": ("comma",), "truncated": False, "guessed": False}
        ]


async def test_the_same_id_twice_in_one_reply_loses_no_call(tmp_path: Path) -> None:
    merged = events(
        chunk({"tool_calls": [{"index": 0, "id": "1", "function": {"name": "change", "arguments": '{"a": 1}'}}]}),
        chunk({"tool_calls": [{"index": 1, "id": "1", "function": {"name": "change", "arguments": '{"a": 2}'}}]}),
        chunk({}, "tool_calls"),
    )
    change, look = pair()
    async with open_rig(tmp_path, (merged, says("x")), tools=(change, look)) as rig:
        await rig.say("go")
        assert [call.arguments for call in change.seen] == [{"a": 1}, {"a": 2}]
        assert rig.payloads(ToolExecSkipped) == []


def test_the_replies_of_these_tests_say_that_they_were_cut() -> None:
    assert b'"length"' in b"".join(cut_off(says("x")).pieces)
    assert event({}) != DONE
