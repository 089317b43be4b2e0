"""No secret leaves: into the model's requests, to hooks, into events and logs, to people; whoever wrote it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.protocol import call_context
from hookgate.protocol.approval import Decision
from hookgate.protocol.chat import Outbound
from hookgate.protocol.events.inside import CallProgressed
from hookgate.protocol.events.payloads import Payload
from hookgate.protocol.hook.answers import Abort, Deny, Modify, Respond
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import Fault, ToolCall, ToolResult
from hookgate.tools.errors import ToolError
from tests.flow.tools.tooling import Made, Rig, everything_sent, open_rig
from tests.loop.recording import Room, hook
from tests.model_server import calls, says

SECRET = "correct-horse-battery-staple-4711"
Run = Callable[[ToolCall], Awaitable[ToolResult]]
LINE = f"the key is {SECRET}."
RAW = {Stage.BEFORE_LLM, Stage.AFTER_LLM, Stage.BEFORE_TOOL, Stage.APPROVE_TOOL}
"""What a hook sees there goes on to the model, or is executed, as the hook leaves it."""


def leaks(rig: Rig) -> set[str]:
    """The exits that the secret took, but for what the model wrote itself and is shown again as its own words."""
    bodies = [("model", json.dumps(_of_others(request.body))) for request in rig.server.requests]
    stages = [(stage, params.decode()) for stage, params in rig.questions if stage not in RAW]
    events = [(event.kind, event.record.decode()) for event in rig.events if not event.kind.startswith("inside.")]
    exits = [*bodies, *stages, *events, ("chat", everything_sent(rig.room))]
    return {name for name, text in exits if SECRET in text}


def _of_others(body: Mapping[str, Any]) -> list[Any]:
    return [message for message in body["messages"] if message["role"] != "assistant"]


async def test_arguments_that_cannot_be_read_leave_without_their_secret(tmp_path: Path) -> None:
    wanted = calls(("1", "ls", f'{{"path": "{SECRET}" "x"}}'), ("2", "ls", json.dumps({SECRET: 1})))
    async with open_rig(tmp_path, (wanted, says("x")), secrets=(SECRET,)) as rig:
        await rig.say("go")
        assert len(rig.results()) == 2
        assert leaks(rig) == set()


ANSWERS = {
    "denied": {Stage.BEFORE_TOOL: Deny(LINE)},
    "aborted hard": {Stage.BEFORE_TOOL: Abort(LINE, hard=True)},
    "answered": {Stage.BEFORE_TOOL: Respond(ToolResult(LINE, for_user=LINE, data={"a": LINE}))},
    "changed": {Stage.AFTER_TOOL: Modify({"for_llm": LINE, "for_user": LINE})},
    "aborted": {Stage.AFTER_TOOL: Abort(LINE)},
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_what_a_hook_says_leaves_without_its_secret(tmp_path: Path, name: str) -> None:
    async with open_rig(
        tmp_path,
        (calls(("1", "ls", "{}")), says("x")),
        agent="show_denials = true",
        hooks=(hook("talker", ANSWERS[name], priority=2_000_000),),
        secrets=(SECRET,),
    ) as rig:
        await rig.say("go")
        assert leaks(rig) == set()


async def test_a_person_is_asked_and_refuses_without_a_secret_leaving(tmp_path: Path) -> None:
    rules = '[[approvals]]\ntools = ["bash"]\n'
    wanted = calls(("1", "bash", json.dumps({"command": f"echo {SECRET}"})))
    async with open_rig(tmp_path, (wanted, says("x")), rules, secrets=(SECRET,)) as rig:
        rig.room.answers = [Decision(False, "ann", f"not with {SECRET}")]
        await rig.say("go")
        assert len(rig.room.asked) == 1
        assert leaks(rig) == set()


@pytest.mark.parametrize("size", [1, 3, 7])
async def test_a_secret_in_small_pieces_of_a_streamed_answer_is_never_shown(tmp_path: Path, size: int) -> None:
    text = f"Well: {LINE} That is all.\nReally."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    async with open_rig(tmp_path, (says(*pieces),), secrets=(SECRET,)) as rig:
        [answer] = await rig.say("go")
        assert "[REDACTED:" in answer
        assert rig.room.streamed == answer
        assert leaks(rig) == set()


async def test_a_stopped_turn_shows_no_secret_that_had_begun(tmp_path: Path) -> None:
    async def waits(_call: ToolCall) -> ToolResult:
        call_context.progress.get()(LINE)
        await trio.sleep_forever()
        raise AssertionError

    tool = Made("waits", waits)
    async with open_rig(tmp_path, (calls(("1", "waits", "{}")), says("x")), tools=(tool,), secrets=(SECRET,)) as rig:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.say, "go")
            while not tool.seen:
                await trio.lowlevel.checkpoint()
            await rig.say("/stop")
        assert leaks(rig) == set()


async def _says_everything(_call: ToolCall) -> ToolResult:
    return ToolResult(
        LINE,
        for_user=LINE,
        is_error=True,
        artifact_tags=(SECRET,),
        error=Fault("fatal", "leak", LINE),
        data={"deep": [{SECRET: LINE}]},
    )


async def _raises(_call: ToolCall) -> ToolResult:
    raise ToolError("fatal", "leak", LINE)


async def _crashes(_call: ToolCall) -> ToolResult:
    raise ExceptionGroup("several", [RuntimeError(LINE), OSError(5, LINE, f"/srv/{SECRET}")])


@pytest.mark.parametrize("run", [_raises, _crashes, _says_everything], ids=lambda it: it.__name__)
async def test_a_secret_in_any_part_of_a_result_leaves_in_none(tmp_path: Path, run: Run) -> None:
    tool = Made("leak", run)
    async with open_rig(tmp_path, (calls(("1", "leak", "{}")), says("x")), tools=(tool,), secrets=(SECRET,)) as rig:
        await rig.say("go")
        assert "[REDACTED:" in rig.results()[0]
        assert leaks(rig) == set()


async def test_a_secret_in_a_command_is_in_no_effect_and_no_result(tmp_path: Path) -> None:
    wanted = calls(("1", "bash", json.dumps({"command": f"echo {SECRET}"})))
    async with open_rig(tmp_path, (wanted, says("x")), secrets=(SECRET,)) as rig:
        await rig.say("go")
        assert "[exit 0]" in rig.results()[0]
        [after] = rig.asked(Stage.AFTER_TOOL)
        assert b'"effects"' in after
        assert leaks(rig) == set()


async def test_a_file_whose_name_is_a_secret_is_told_nowhere(tmp_path: Path) -> None:
    wanted = calls(("1", "write", json.dumps({"path": f"{SECRET}.txt", "content": "x"})))
    async with open_rig(tmp_path, (wanted, says("x")), secrets=(SECRET,)) as rig:
        await rig.say("go")
        assert (tmp_path / f"{SECRET}.txt").exists()
        assert leaks(rig) == set()


async def test_the_name_of_a_tool_that_does_not_exist_is_told_without_its_secret(tmp_path: Path) -> None:
    async with open_rig(tmp_path, (calls(("1", SECRET, "{}")), says("x")), secrets=(SECRET,)) as rig:
        await rig.say("go")
        assert "not_found" in rig.results()[0]
        assert leaks(rig) == set()


async def test_a_secret_in_small_pieces_of_a_running_calls_output_is_never_told(tmp_path: Path) -> None:
    async def prints(_call: ToolCall) -> str:
        for letter in f"{LINE}\n":
            call_context.progress.get()(letter)
        return "done"

    tool = Made("prints", prints)
    async with open_rig(tmp_path, (calls(("1", "prints", "{}")), says("x")), tools=(tool,), secrets=(SECRET,)) as rig:
        await rig.say("go")
        assert SECRET not in "".join(it.piece for it in rig.payloads(CallProgressed))


@pytest.mark.parametrize("before", [50 * 1024 - 10, 62 * 1024 - 20])
async def test_a_secret_where_a_long_result_is_cut_leaves_no_half(tmp_path: Path, before: int) -> None:
    async def long(_call: ToolCall) -> str:
        return f"{'x ' * (before // 2)}{SECRET} {'y ' * 40_000}"

    tool = Made("long", long)
    async with open_rig(tmp_path, (calls(("1", "long", "{}")), says("x")), tools=(tool,), secrets=(SECRET,)) as rig:
        await rig.say("go")
        assert SECRET[:8] not in rig.results()[0]


class Leaky(Room):
    """Its errors name the address, with the token in it, as those of HTTP clients do."""

    async def send(self, outbound: Outbound, key: str) -> str:
        if outbound.kind == "output":
            raise OSError(f"POST https://chat/bot{SECRET}/send failed")
        return await super().send(outbound, key)


async def test_what_a_channel_says_of_its_own_failure_leaves_without_its_secret(tmp_path: Path) -> None:
    async def shows(_call: ToolCall) -> ToolResult:
        return ToolResult("ok", for_user="look", response_handled=True)

    async with open_rig(
        tmp_path,
        (calls(("1", "show", "{}")), says("x")),
        tools=(Made("show", shows),),
        room=Leaky([]),
        secrets=(SECRET,),
    ) as rig:
        await rig.say("go")
        assert rig.results()[0].startswith("failed to deliver")
        assert leaks(rig) == set()


async def test_what_extensions_and_embedders_hear_of_a_result_holds_no_secret(tmp_path: Path) -> None:
    async with open_rig(
        tmp_path,
        (calls(("1", "leak", "{}")), says(LINE)),
        tools=(Made("leak", _says_everything),),
        secrets=(SECRET,),
    ) as rig:
        await rig.say("go")
        inside = [event.payload for event in rig.events if event.kind == "inside.call_ended"]
        assert inside
        assert SECRET not in "\n".join(map(_members, inside))


def _members(payload: Payload) -> str:
    return str(payload.wire())


async def test_what_a_zot_extension_hears_of_a_call_holds_no_secret(tmp_path: Path) -> None:
    from hookgate.protocol.zot.happened import translated

    wanted = calls(("1", "bash", json.dumps({"command": f"true {SECRET}"})), ("2", "ls", f'{{"a" "{SECRET}"}}'))
    async with open_rig(tmp_path, (wanted, says("x")), secrets=(SECRET,)) as rig:
        await rig.say("go")
        heard = {type(it).__name__ for event in rig.events for it in translated(event) if SECRET in str(it)}
        assert heard == set()


async def test_what_one_hook_makes_of_a_result_reaches_the_next_without_its_secret(tmp_path: Path) -> None:
    talker = hook("talker", {Stage.AFTER_TOOL: Modify({"for_llm": LINE, "for_user": LINE})})
    replies = (calls(("1", "ls", "{}")), says("x"))
    async with open_rig(tmp_path, replies, hooks=(talker,), secrets=(SECRET,)) as rig:
        await rig.say("go")
        assert leaks(rig) == set()
