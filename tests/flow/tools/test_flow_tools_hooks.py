"""Hooks as processes that handle calls oddly: deep, broken, renamed, injected twice; and the guards that ship."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from hookgate.protocol.events.payloads import HookFailed
from hookgate.protocol.hook.answers import CONTINUE, Answer, Modify, Respond
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import LLMRequest, ToolResult, ToolSpec
from tests.flow.gateway import child
from tests.flow.tools.tooling import Made, called, open_rig
from tests.loop.recording import hook
from tests.model_server import calls, says

RAW = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = '{}'
    if message["method"] == "hook.before_tool":
        result = %s
    if message["method"] == "hook.hello":
        result = '{"ok": true}'
    sys.stdout.write('{"jsonrpc": "2.0", "id": %%d, "result": %%s}\\n' %% (message["id"], result))
    sys.stdout.flush()
"""
DEEP = "'{\"a\":' * %d + '1' + '}' * %d"
ODD = {
    "arguments 100,000 deep": '\'{"action": "modify", "call": {"arguments": \' + %s + "}}"'
    % (DEEP % (100_000, 100_000)),
    "arguments 300 deep": '\'{"action": "modify", "call": {"arguments": \' + %s + "}}"' % (DEEP % (300, 300)),
    **{
        f"arguments {depth} deep with an escape": (
            '\'{"action": "modify", "reason": "\\\\u0041", "call": {"arguments": \' + %s + "}}"'
            % (DEEP % (depth, depth))
        )
        for depth in (60, 100, 250, 400)
    },
    **{
        f"data {depth} deep with an escape": (
            '\'{"action": "respond", "reason": "\\\\u0041", "result": {"for_llm": "x", "data": \' + %s + "}}"'
            % (DEEP % (depth, depth))
        )
        for depth in (100, 250, 400)
    },
    "half a character in arguments": ('\'{"action": "modify", "call": {"arguments": {"text": "\\\\ud83d"}}}\''),
    "half a character in a result": (
        '\'{"action": "respond", "result": {"for_llm": "\\\\ud83d", "for_user": "\\\\ud83d"}}\''
    ),
    "a number that is none": '\'{"action": "modify", "call": {"arguments": {"n": NaN}}}\'',
    "a number too large": '\'{"action": "modify", "call": {"arguments": {"n": 1e999}}}\'',
    "a whole number of 5000 digits": '\'{"action": "modify", "call": {"arguments": {"n": \' + "1" * 5000 + "}}}"',
    "a name of a megabyte": '\'{"action": "modify", "call": {"tool": "\' + "x" * 1000000 + \'"}}\'',
    "arguments that are a list": '\'{"action": "modify", "call": {"arguments": [1]}}\'',
    "an empty name": '\'{"action": "modify", "call": {"tool": ""}}\'',
}


@pytest.mark.parametrize("name", ODD)
async def test_however_oddly_a_process_answers_a_call_the_turn_goes_on(tmp_path: Path, name: str) -> None:
    config = child("odd", tmp_path / "odd.py", RAW % ODD[name], 'intercept = ["before_tool"]\ntimeout_ms = 1000')
    tool = Made("work")
    async with open_rig(tmp_path, (calls(("1", "work", "{}")), says("x")), config, tools=(tool,)) as rig:
        assert await rig.say("go") == (["\ufffd", "x"] if name == "half a character in a result" else ["x"])
        [told] = rig.results()
        told.encode()
        assert len(told) < 64 * 1024
        for call in tool.seen:
            json.dumps(dict(call.arguments), allow_nan=False, ensure_ascii=False).encode()


async def test_the_loop_guard_advises_on_calls_that_never_reach_a_tool(tmp_path: Path) -> None:
    wrong = calls(("1", "read", "{}"))
    async with open_rig(tmp_path, (*[wrong] * 4, says("x"))) as rig:
        await rig.say("go")
        assert len(set(rig.results())) == 1
        told = [str(message["content"]) for message in rig.server.requests[-1].body["messages"]]
        assert "Advice: this same call has failed 3 times" in told[-1] or "failed 4 times" in told[-1]


async def test_a_turn_meets_the_guards_and_every_call_is_still_accounted_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    wanted = calls(
        ("1", "bash", '{"command": "cd / && ls"}'),
        ("2", "bash", '{"command": "echo hi > b.txt"}'),
        ("3", "bash", '{"command": "echo hi"}'),
        ("4", "write", '{"path": "a.txt", "content": "new\\n"}'),
        ("5", "read", '{"path": "a.txt"}'),
    )
    async with open_rig(tmp_path, (wanted, says("x")), '[guards]\nshell = { profile = "standard" }\n') as rig:
        await rig.say("go")
        results = rig.results()
        assert [text.startswith("Tool execution denied by hook") for text in results] == [
            True,
            True,
            False,
            False,
            False,
        ]
        assert not (tmp_path / "b.txt").exists()
        assert (tmp_path / "a.txt").read_text() == "new\n"
        tally = rig.runtime.agent.tally
        assert (tally.calls, tally.denied, tally.executed) == (5, 2, 3)


async def test_a_call_renamed_to_an_injected_tool_waits_for_the_reads_before_it(tmp_path: Path) -> None:
    order: list[str] = []

    async def looks(_call: object) -> str:
        order.append("look")
        return "looked"

    async def adds(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, LLMRequest)
        return Modify({"tools": (*question.subject.tools, ToolSpec("mine", "", {"type": "object"}))})

    async def answers(_question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        order.append("mine")
        return Respond(ToolResult("done"))

    async def renames(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Modify({"name": "mine"}) if called(question).arguments else CONTINUE

    from hookgate.protocol.hook.match import Globs, Matcher

    owner = hook(
        "owner", {Stage.BEFORE_LLM: adds, Stage.BEFORE_TOOL: answers}, match=Matcher({"tools": Globs(("mine",))})
    )
    wanted = calls(("1", "look", "{}"), ("2", "look", '{"x": 1}'), ("3", "look", "{}"))
    async with open_rig(
        tmp_path,
        (wanted, says("x")),
        tools=(Made("look", looks, reads=True),),
        hooks=(owner, hook("renames", {Stage.BEFORE_TOOL: renames})),
    ) as rig:
        await rig.say("go")
        assert rig.results() == ["looked", "done", "looked"]
        assert order == ["look", "mine", "look"]


async def test_a_tool_that_a_hook_adds_twice_is_offered_once(tmp_path: Path) -> None:
    async def adds(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, LLMRequest)
        twin = ToolSpec("mine", "", {"type": "object"})
        return Modify({"tools": (*question.subject.tools, twin, twin)})

    async with open_rig(tmp_path, (says("x"),), hooks=(hook("owner", {Stage.BEFORE_LLM: adds}),)) as rig:
        await rig.say("go")
        assert rig.offered(0).count("mine") == 1


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"type": "nonsense"}, {"$ref": "https://127.0.0.1:9/x"}])
async def test_a_hook_that_breaks_the_schema_of_a_tool_breaks_no_turn(tmp_path: Path, schema: dict[str, str]) -> None:
    async def breaks(question: Question) -> Answer:
        from dataclasses import replace

        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, LLMRequest)
        return Modify({"tools": tuple(replace(spec, parameters=schema) for spec in question.subject.tools)})

    async with open_rig(
        tmp_path,
        (calls(("1", "work", "{}")), says("x")),
        tools=(Made("work"),),
        hooks=(hook("breaker", {Stage.BEFORE_LLM: breaks}),),
    ) as rig:
        assert await rig.say("go") == ["x"]
        # No endpoint takes such a schema, so the tools keep their own.
        offered = [tool["function"]["parameters"] for tool in rig.server.requests[0].body["tools"]]
        assert all(it.get("type") == "object" and "$ref" not in it for it in offered)
        assert [failed.hook for failed in rig.payloads(HookFailed)]
