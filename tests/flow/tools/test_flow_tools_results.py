"""Whatever a tool does or answers, the model gets one text, hooks get JSON, and the program goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.protocol.events.payloads import ToolExecEnd
from hookgate.protocol.hook.answers import Deny, Modify, Respond
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.tools.errors import ToolError
from tests.flow.tools.tooling import Made, endings, open_rig
from tests.loop.recording import hook
from tests.model_server import calls, says

Run = Callable[[ToolCall], Awaitable[Any]]


async def _group(_call: ToolCall) -> ToolResult:
    raise ExceptionGroup("g", [ToolError("transient", "a", "busy"), ExceptionGroup("h", [PermissionError(13, "no")])])


async def _nursery(_call: ToolCall) -> ToolResult:
    async def fails() -> None:
        await trio.lowlevel.checkpoint()
        raise ToolError("stale", "part", "changed meanwhile")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        nursery.start_soon(fails)
    raise AssertionError


async def _own_cancellation(_call: ToolCall) -> ToolResult:
    with trio.CancelScope() as scope:
        scope.cancel()
        await trio.sleep_forever()
    return ToolResult("went on")


async def _unprintable(_call: ToolCall) -> ToolResult:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    raise Mute


async def _recursion(_call: ToolCall) -> ToolResult:
    def deeper() -> int:
        return deeper() + 1

    deeper()
    raise AssertionError


async def _nothing(_call: ToolCall) -> Any:
    return None


async def _stop_iteration(_call: ToolCall) -> ToolResult:
    raise StopAsyncIteration


async def _exits(_call: ToolCall) -> ToolResult:
    raise SystemExit(3)


async def _exits_in_a_thread(_call: ToolCall) -> ToolResult:
    def leave() -> None:
        raise SystemExit(3)

    await trio.to_thread.run_sync(leave)
    raise AssertionError


async def _foreign_cancellation(_call: ToolCall) -> ToolResult:
    raise asyncio.CancelledError


RAISED: dict[Run, str] = {
    _group: "ERROR (permission) rough: no",
    _nursery: "ERROR (stale) part: changed meanwhile",
    _own_cancellation: "went on",
    _unprintable: "ERROR (fatal) rough: Mute: an error that cannot be printed",
    _recursion: "ERROR (fatal) rough: RecursionError",
    _nothing: "ERROR (fatal) tool: returned NoneType, not a result",
    _stop_iteration: "ERROR (fatal) rough: ",
    _exits: "ERROR (fatal) rough: ",
    _exits_in_a_thread: "ERROR (fatal) rough: ",
    _foreign_cancellation: "ERROR (fatal) rough: ",
}


@pytest.mark.parametrize("run", RAISED, ids=lambda run: run.__name__)
async def test_whatever_a_tool_raises_is_a_result_and_the_program_goes_on(tmp_path: Path, run: Run) -> None:
    wanted = calls(("1", "rough", "{}"), ("2", "good", "{}"))
    async with open_rig(
        tmp_path, (wanted, says("x"), says("later")), tools=(Made("rough", run), Made("good"))
    ) as rig:
        assert await rig.say("go") == ["x"]
        told, good = rig.results()
        assert told.startswith(RAISED[run])
        assert good == "good ran"
        assert set(endings(rig).values()) == {(1, 1, 0)}
        assert await rig.say("and now?") == ["later"]


async def test_a_failing_read_cancels_no_sibling(tmp_path: Path) -> None:
    wanted = calls(("1", "rough", "{}"), ("2", "good", "{}"), ("3", "rough", "{}"))
    tools = (Made("rough", _group, reads=True), Made("good", reads=True))
    async with open_rig(tmp_path, (wanted, says("x")), tools=tools) as rig:
        await rig.say("go")
        assert [text.split()[0] for text in rig.results()] == ["ERROR", "good", "ERROR"]


@pytest.mark.parametrize("size", [50 * 1024 * 1024])
async def test_a_flood_of_output_reaches_model_hooks_and_people_cut(tmp_path: Path, size: int) -> None:
    line = f"head -c {size} /dev/zero | tr '\\0' 'x'"
    async with open_rig(tmp_path, (calls(("1", "bash", json.dumps({"command": line}))), says("x"))) as rig:
        assert await rig.say("go") == ["x"]
        assert len(rig.results()[0]) < 64 * 1024
        assert all(len(params) < 256 * 1024 for params in rig.asked(Stage.AFTER_TOOL))
        assert all(len(event.record) < 256 * 1024 for event in rig.events if not event.kind.startswith("inside."))


async def test_a_flood_of_a_tool_in_this_process_is_cut_too(tmp_path: Path) -> None:
    async def floods(_call: ToolCall) -> str:
        return "x" * (8 * 1024 * 1024)

    async with open_rig(tmp_path, (calls(("1", "flood", "{}")), says("x")), tools=(Made("flood", floods),)) as rig:
        assert await rig.say("go") == ["x"]
        assert len(rig.results()[0]) < 64 * 1024
        assert rig.results()[0].endswith("bytes in 1 lines more]")


LONG = "no " * (1024 * 1024)
ANSWERS = {
    "an answer": {Stage.BEFORE_TOOL: Respond(ToolResult(LONG))},
    "a change": {Stage.AFTER_TOOL: Modify({"for_llm": LONG})},
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_whatever_length_a_hook_writes_the_model_gets_it_cut(tmp_path: Path, name: str) -> None:
    talker = hook("talker", ANSWERS[name])
    async with open_rig(
        tmp_path, (calls(("1", "good", "{}")), says("x")), tools=(Made("good"),), hooks=(talker,)
    ) as rig:
        await rig.say("go")
        assert len(rig.results()[0]) < 64 * 1024


WORDS = [
    "nul \\u0000 byte",
    "line\\u2028end",
    "\\ufeffmark",
    "e\\u0301",
    "\\u202Eturned",
    "\\ud83d\\ude00",
    "\\ud83d",
]


@pytest.mark.parametrize("written", WORDS)
async def test_odd_characters_in_arguments_reach_tool_hooks_and_history_alike(tmp_path: Path, written: str) -> None:
    tool = Made("odd")
    arguments = f'{{"text": "{written}"}}'
    async with open_rig(tmp_path, (calls(("1", "odd", arguments)), says("x")), tools=(tool,)) as rig:
        assert await rig.say("go") == ["x"]
        [call] = tool.seen
        expected = json.loads(arguments)["text"].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert call.arguments == {"text": expected}
        [asked] = rig.asked(Stage.BEFORE_TOOL)
        assert json.loads(asked)["arguments"] == {"text": expected}


@pytest.mark.parametrize("size", [1024 * 1024 - 100, 1024 * 1024 + 100])
async def test_a_mebibyte_of_arguments_is_the_limit(tmp_path: Path, size: int) -> None:
    tool = Made("big")
    wanted = calls(("1", "big", json.dumps({"text": "x" * (size - 12)})))
    async with open_rig(tmp_path, (wanted, says("x")), tools=(tool,)) as rig:
        await rig.say("go")
        assert len(tool.seen) == (size < 1024 * 1024)
        assert len(rig.results()[0]) < 1000


EFFECTS = {
    "bash": ({"command": "touch b.txt"}, [("process", None), ("file", "create")]),
    "write": ({"path": "w.txt", "content": "x"}, [("file", "create")]),
    "edit": ({"path": "e.txt", "edits": [{"oldText": "a", "newText": "b"}]}, [("file", "modify")]),
}


@pytest.mark.parametrize("tool", EFFECTS)
async def test_hooks_and_events_see_the_same_effects_and_the_model_sees_none(tmp_path: Path, tool: str) -> None:
    (tmp_path / "e.txt").write_text("a\n")
    arguments, expected = EFFECTS[tool]
    async with open_rig(tmp_path, (calls(("1", tool, json.dumps(arguments))), says("x"))) as rig:
        await rig.say("go")
        [asked] = rig.asked(Stage.AFTER_TOOL)
        effects = json.loads(asked)["result"]["effects"]
        assert [(it["kind"], it.get("op")) for it in effects] == expected
        assert [it["source"] for it in effects if it["kind"] == "file"] == ["observed"]
        [end] = rig.payloads(ToolExecEnd)
        assert json.loads(json.dumps(end.Effects)) == effects
        assert "observed" not in rig.results()[0]


async def test_json_output_is_data_for_hooks_and_text_for_the_model(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle\n")
    wanted = calls(
        ("1", "ls", '{"output": "json"}'),
        ("2", "grep", '{"pattern": "needle", "output": "json"}'),
        ("3", "glob", '{"pattern": "*.txt", "output": "json"}'),
        ("4", "bash", '{"command": "true"}'),
    )
    async with open_rig(tmp_path, (wanted, says("x"))) as rig:
        await rig.say("go")
        data = [json.loads(params)["result"]["data"] for params in rig.asked(Stage.AFTER_TOOL)]
        assert all(isinstance(it, dict) for it in data)
        assert [json.loads(text) for text in rig.results()[:3]] == data[:3]
        assert data[3]["exit_code"] == 0


LONE = "half \ud83d of a pair"


async def _lone(_call: ToolCall) -> ToolResult:
    return ToolResult(LONE, for_user=LONE, data={LONE: [LONE]})


async def _raises_lone(_call: ToolCall) -> ToolResult:
    raise ToolError("fatal", "odd", LONE)


@pytest.mark.parametrize("run", [_lone, _raises_lone], ids=lambda run: run.__name__)
async def test_half_a_character_in_a_result_leaves_nowhere(tmp_path: Path, run: Run) -> None:
    async with open_rig(tmp_path, (calls(("1", "odd", "{}")), says("x")), tools=(Made("odd", run),)) as rig:
        await rig.say("go")
        rig.results()[0].encode()
        "".join(outbound.text for outbound in rig.room.sent).encode()
        assert not any(b"\\ud83d" in params for _, params in rig.questions)
        assert not any(b"\\ud83d" in event.record for event in rig.events if not event.kind.startswith("inside."))


async def test_a_denial_of_any_length_reaches_the_model_cut(tmp_path: Path) -> None:
    talker = hook("talker", {Stage.BEFORE_TOOL: Deny(LONG)})
    async with open_rig(
        tmp_path, (calls(("1", "good", "{}")), says("x")), tools=(Made("good"),), hooks=(talker,)
    ) as rig:
        await rig.say("go")
        assert len(rig.results()[0]) < 64 * 1024
