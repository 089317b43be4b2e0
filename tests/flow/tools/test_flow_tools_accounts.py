"""Every call is told of once as begun and once as ended, has one result, and is counted; also when a turn is cut."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from hookgate.protocol.approval import Decision
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer, Deny, Modify, Respond
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.tools.lease import Held
from tests.flow.tools.tooling import RAN, SKIPPED, Made, Rig, called, endings, open_rig
from tests.loop.recording import OTHER, hook
from tests.model_server import calls, says
from tests.processes import none_left, processes_of, until

# No other process sleeps for so long: found by its command line.
SLEEP = f"601.{os.getpid():07}"
MIXED = calls(
    ("ok", "note", '{"a": 1}'),
    ("unknown", "nothing", "{}"),
    ("unread", "note", '{"a": '),
    ("list", "note", "[1]"),
    ("misfit", "read", "{}"),
    ("denied", "forbidden", "{}"),
    ("answered", "mocked", "{}"),
    ("refused", "guarded", "{}"),
    ("fails", "broken", "{}"),
    ("twice", "look", "{}"),
    ("again", "look", "{}"),
    ("same", "look", '{"x": 1}'),
    ("same", "look", '{"x": 2}'),
)


async def _broken(_call: ToolCall) -> ToolResult:
    raise ValueError("broken")


def _by_name(answers: dict[str, Answer], usual: Answer) -> Callable[[Question], Awaitable[Answer]]:
    async def judge(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return answers.get(called(question).name, usual)

    return judge


def _tools() -> tuple[Made, ...]:
    names = ("note", "forbidden", "mocked", "guarded")
    return (*map(Made, names), Made("broken", _broken), Made("look", reads=True, pure=True))


async def test_every_kind_of_call_has_one_end_one_result_and_one_count(tmp_path: Path) -> None:
    before = _by_name({"forbidden": Deny("no"), "mocked": Respond(ToolResult("mock"))}, CONTINUE)
    policy = hook("policy", {Stage.BEFORE_TOOL: before})
    rule = '[[approvals]]\ntools = ["guarded"]\n[guards]\nloop = "off"\n'
    async with open_rig(tmp_path, (MIXED, says("x")), rule, tools=_tools(), hooks=(policy,)) as rig:
        rig.room.answers = [Decision(False, "ann", "no")]
        await rig.say("go")
        told = [(message.tool_call_id, message.content) for message in rig.messages() if message.role == "tool"]
        ended = endings(rig)
        tally = rig.runtime.agent.tally
    assert [call_id for call_id, _ in told][:11] == [
        *("ok", "unknown", "unread", "list", "misfit", "denied", "answered", "refused", "fails", "twice", "again")
    ]
    assert len({call_id for call_id, _ in told}) == len(told) == 13
    assert all(text.strip() for _, text in told)
    skipped = {"unknown", "unread", "list", "misfit", "denied", "refused"}
    assert {call_id for call_id, one in ended.items() if one == SKIPPED} == skipped
    assert {call_id for call_id, one in ended.items() if one == RAN} == {call_id for call_id, _ in told} - skipped
    assert (tally.calls, tally.denied, tally.answered, tally.allowed) == (9, 2, 1, 6)
    assert (tally.executed, tally.cached, tally.dropped) == (5, 1, 0)


CUTS = ("before_tool", "approve_tool", "person", "lease", "running", "after_tool")


async def _until(rig: Rig, place: str, tool: Made) -> None:
    """Wait until the turn is held up where the test wants to cut it."""
    stages = {"before_tool": Stage.BEFORE_TOOL, "approve_tool": Stage.APPROVE_TOOL, "after_tool": Stage.AFTER_TOOL}
    while True:
        await trio.lowlevel.checkpoint()
        if place == "person" and rig.room.asked:
            return
        if place == "running" and tool.seen:
            return
        if place == "lease" and rig.asked(Stage.APPROVE_TOOL):
            return
        if place in stages and rig.asked(stages[place]):
            return


@pytest.mark.parametrize("ending", ["/stop", "/new"])
@pytest.mark.parametrize("place", CUTS)
async def test_a_turn_that_is_cut_anywhere_leaves_nothing_open(tmp_path: Path, place: str, ending: str) -> None:
    async def held(_question: Question) -> Answer:
        await trio.sleep_forever()
        return CONTINUE

    async def runs(_call: ToolCall) -> str:
        if place == "running":
            await trio.sleep_forever()
        return "ran"

    tool = Made("work", runs, access="write")
    stage = next((it for it in Stage if it == place), None)
    holds = (hook("holder", {stage: held}, priority=2_000_000, timeout_s={stage: 60.0}),) if stage else ()
    rule = '[[approvals]]\ntools = ["work"]\n' if place == "person" else ""
    replies = (calls(("1", "work", "{}"), ("2", "work", "{}")), says("later"))
    async with open_rig(tmp_path, replies, rule, tools=(tool,), hooks=holds) as rig:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cut, rig, place, ending, tool)
            if place != "lease":
                await rig.say("go")
            else:
                async with Held(rig.runtime.agent.around.lease, "write", "another"):
                    await rig.say("go")
        begun = {call_id: one for call_id, one in endings(rig).items() if one[0]}
        assert set(begun.values()) <= {RAN}
        assert await rig.say("and now?") == ["later"]


async def _cut(rig: Rig, place: str, ending: str, tool: Made) -> None:
    await _until(rig, place, tool)
    await rig.say(ending)


async def test_a_command_that_is_stopped_leaves_no_process(tmp_path: Path) -> None:
    line = f"echo $$ > pid.txt; exec sleep {SLEEP}"
    wanted = calls(("1", "bash", json.dumps({"command": line})))
    async with open_rig(tmp_path, (wanted, says("later")), "[guards]\nshell = 'off'\n") as rig:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.say, "go")
            await until(lambda: (tmp_path / "pid.txt").exists() and (tmp_path / "pid.txt").read_text().strip())
            await until(lambda: processes_of(SLEEP))
            await rig.say("/stop")
        await rig.runtime.gateway.idle("test:1")
        await none_left(SLEEP)
        assert rig.results() == ["No result: the turn ended before this call did. It may have run."]


async def test_two_conversations_use_the_same_tool_at_once(tmp_path: Path) -> None:
    both = trio.Event()

    async def meets(call: ToolCall) -> str:
        if len(tool.seen) == 2:
            both.set()
        await both.wait()
        return f"met {call.arguments['who']}"

    tool = Made("meet", meets, reads=True)
    replies = (calls(("1", "meet", '{"who": "a"}')), calls(("1", "meet", '{"who": "a"}')), says("x"), says("x"))
    async with open_rig(tmp_path, replies, tools=(tool,)) as rig:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.say, "go")
            nursery.start_soon(rig.say, "go", OTHER)
        assert rig.results() == rig.results(OTHER) == ["met a"]
        assert rig.runtime.agent.tally.executed == 2


@pytest.mark.parametrize("hard", [False, True])
async def test_an_abort_after_a_tool_leaves_no_call_begun_and_not_ended(tmp_path: Path, hard: bool) -> None:
    judge = hook("quitter", {Stage.AFTER_TOOL: Abort("enough", hard=hard)})
    wanted = calls(("1", "look", "{}"), ("2", "look", '{"x": 1}'), ("3", "note", "{}"))
    async with open_rig(tmp_path, (wanted, says("later")), tools=_tools(), hooks=(judge,)) as rig:
        await rig.say("go")
        begun = {call_id: one for call_id, one in endings(rig).items() if one[0]}
        assert begun
        assert set(begun.values()) == {RAN}
        assert await rig.say("and now?") == ["later"]


async def test_what_never_began_before_a_stop_counts_as_dropped(tmp_path: Path) -> None:
    """Renamed into calls that change state, the two of a read-only group run one after the other."""

    async def renames(_question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Modify({"name": "work"})

    async def hangs(_call: ToolCall) -> str:
        await trio.sleep_forever()
        return ""

    tool = Made("work", hangs)
    replies = (calls(("1", "look", "{}"), ("2", "look", '{"x": 1}')), says("later"))
    renamer = hook("renamer", {Stage.BEFORE_TOOL: renames})
    async with open_rig(tmp_path, replies, tools=(*_tools(), tool), hooks=(renamer,)) as rig:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cut, rig, "running", "/stop", tool)
            await rig.say("go")
        tally = rig.runtime.agent.tally
        assert len(tool.seen) == 1
        assert (tally.allowed, tally.executed, tally.dropped) == (2, 1, 1)
