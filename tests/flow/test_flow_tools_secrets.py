"""No secret leaves: into the model's requests, to hooks, into events and logs, to people; whoever wrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.protocol.answers import Abort, Modify, Respond
from hookgate.protocol.approval import Decision
from hookgate.protocol.stages import Stage
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.tools import whose
from tests.flow.tooling import Made, Rig, everything_sent, open_rig
from tests.loop.recording import hook
from tests.model_server import calls, says

SECRET = "correct-horse-battery-staple-4711"
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
        whose.progress.get()(LINE)
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
