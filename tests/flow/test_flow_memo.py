"""The memo through the whole program: what hooks see of a hit, what voids it, and what never shares anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from hookgate.protocol.events.payloads import GateDecision, ToolExecEnd
from hookgate.protocol.hook.answers import CONTINUE, Answer, Deny, Failed, Modify, Respond
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Finished, Json, ToolCall, ToolResult
from tests.flow.tools.tooling import RAN, Made, called, endings, open_rig
from tests.loop.recording import OTHER, hook
from tests.model_server import calls, says


def look() -> Made:
    async def numbered(_call: ToolCall) -> ToolResult:
        return ToolResult(f"run {len(tool.seen)}", data={"run": [len(tool.seen)]})

    tool = Made("look", numbered, reads=True, pure=True)
    return tool


ONE = calls(("1", "look", "{}"))


async def test_hooks_are_asked_about_a_hit_as_about_a_miss(tmp_path: Path) -> None:
    tool = look()
    async with open_rig(tmp_path, (ONE, ONE, says("x")), tools=(tool,)) as rig:
        await rig.say("go")
        assert rig.results() == ["run 1", "run 1"]
        assert [len(rig.asked(stage)) for stage in (Stage.BEFORE_TOOL, Stage.APPROVE_TOOL, Stage.AFTER_TOOL)] == [
            2
        ] * 3
        results = [json.loads(params)["result"] for params in rig.asked(Stage.AFTER_TOOL)]
        assert [(it["data"], it.get("cached")) for it in results] == [({"run": [1]}, None), ({"run": [1]}, True)]
        assert [end.Cached for end in rig.payloads(ToolExecEnd)] == [None, True]


async def test_a_hook_that_changes_arguments_decides_what_is_the_same_call(tmp_path: Path) -> None:
    async def evens_out(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Modify({"arguments": {"path": str(called(question).arguments["path"]).strip("/")}})

    tool = look()
    wanted = calls(("1", "look", '{"path": "a"}'), ("2", "look", '{"path": "a/"}'), ("3", "look", '{"path": "b"}'))
    evener = hook("evener", {Stage.BEFORE_TOOL: evens_out})
    async with open_rig(tmp_path, (wanted, says("x")), tools=(tool,), hooks=(evener,)) as rig:
        await rig.say("go")
        assert sorted(str(call.arguments["path"]) for call in tool.seen) == ["a", "b"]
        assert rig.runtime.agent.tally.cached == 1


async def test_what_an_after_tool_hook_makes_of_a_result_is_not_what_is_kept(tmp_path: Path) -> None:
    async def counts(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, Finished)
        return Modify({"for_llm": f"{question.subject.result.for_llm}!"})

    counter = hook("counter", {Stage.AFTER_TOOL: counts})
    async with open_rig(tmp_path, (ONE, ONE, says("x")), tools=(look(),), hooks=(counter,)) as rig:
        await rig.say("go")
        assert rig.results() == ["run 1!", "run 1!"]


async def test_a_hook_that_denies_from_the_second_time_on_is_not_passed_by_a_hit(tmp_path: Path) -> None:
    asked: list[Question] = []

    async def once(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        asked.append(question)
        return CONTINUE if len(asked) == 1 else Deny("enough")

    async with open_rig(
        tmp_path, (ONE, ONE, says("x")), tools=(look(),), hooks=(hook("once", {Stage.BEFORE_TOOL: once}),)
    ) as rig:
        await rig.say("go")
        assert rig.results() == ["run 1", "Tool execution denied by hook: enough"]


async def test_an_audit_hook_hears_of_hits_and_changes_nothing(tmp_path: Path) -> None:
    auditor = hook(
        "auditor",
        {Stage.BEFORE_TOOL: Deny("would"), Stage.AFTER_TOOL: Modify({"for_llm": "would"})},
        mode="audit",
    )
    async with open_rig(tmp_path, (ONE, ONE, says("x")), tools=(look(),), hooks=(auditor,)) as rig:
        await rig.say("go")
        assert rig.results() == ["run 1", "run 1"]
        while len([it for it in rig.payloads(GateDecision) if it.audit]) < 4:
            await trio.lowlevel.checkpoint()
        assert rig.runtime.agent.tally.cached == 1


async def _fails(_call: ToolCall) -> ToolResult:
    raise OSError(5, "broken")


@pytest.mark.parametrize("between", ["work", "broken", "mine", "renamed"])
async def test_any_call_that_may_change_something_voids_what_is_kept(tmp_path: Path, between: str) -> None:
    """`mine` belongs to a hook; `renamed` is a read-only call that a hook makes a changing one of."""

    async def judge(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Modify({"name": "work"}) if called(question).name == "renamed" else CONTINUE

    tools = (look(), Made("work"), Made("broken", _fails), Made("renamed", reads=True))
    wanted = calls(("1", "look", "{}"), ("2", between, "{}"), ("3", "look", "{}"))
    async with open_rig(
        tmp_path,
        (wanted, says("x")),
        tools=tools,
        hooks=(hook("judge", {Stage.BEFORE_TOOL: judge}), _owner()),
    ) as rig:
        await rig.say("go")
        assert rig.results()[::2] == ["run 1", "run 2"]


def _owner() -> object:
    async def adds(question: Question) -> Answer:
        from hookgate.protocol.values import LLMRequest, ToolSpec

        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, LLMRequest)
        return Modify({"tools": (*question.subject.tools, ToolSpec("mine", "", {"type": "object"}))})

    async def answers(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Respond(ToolResult("done")) if called(question).name == "mine" else CONTINUE

    return hook("owner", {Stage.BEFORE_LLM: adds, Stage.BEFORE_TOOL: answers})


@pytest.mark.parametrize("answer", [Deny("no"), Failed("broken"), Respond(ToolResult("mock"))])
async def test_a_changing_call_that_never_ran_voids_nothing(tmp_path: Path, answer: Answer) -> None:
    async def judge(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return answer if called(question).name == "work" else CONTINUE

    wanted = calls(("1", "look", "{}"), ("2", "work", "{}"), ("3", "look", "{}"))
    rules = {"on_failure": {Stage.BEFORE_TOOL: "deny"}}
    async with open_rig(
        tmp_path,
        (wanted, says("x")),
        tools=(look(), Made("work")),
        hooks=(hook("judge", {Stage.BEFORE_TOOL: judge}, **rules),),
    ) as rig:
        await rig.say("go")
        assert rig.results()[::2] == ["run 1", "run 1"]


async def test_equal_calls_of_one_batch_run_once_and_each_has_its_own_end(tmp_path: Path) -> None:
    tool = look()
    wanted = calls(*((f"c{n}", "look", json.dumps({"n": n % 3})) for n in range(12)))
    async with open_rig(tmp_path, (wanted, says("x")), tools=(tool,)) as rig:
        await rig.say("go")
        assert len(tool.seen) == 3
        assert endings(rig) == {f"c{n}": RAN for n in range(12)}
        assert (rig.runtime.agent.tally.executed, rig.runtime.agent.tally.cached) == (3, 9)


async def test_nothing_is_kept_from_one_turn_to_the_next_nor_for_another_conversation(tmp_path: Path) -> None:
    tool = look()
    async with open_rig(tmp_path, (ONE, says("x"), ONE, says("x"), ONE, says("x")), tools=(tool,)) as rig:
        await rig.say("go")
        await rig.say("go")
        await rig.say("go", OTHER)
        assert len(tool.seen) == 3


async def test_a_changed_registry_voids_what_is_kept(tmp_path: Path) -> None:
    tool = look()

    async def registers(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        if len(tool.seen) == 1:
            rig.add(Made("another"))
        return CONTINUE

    adder = hook("adder", {Stage.AFTER_TOOL: registers})
    async with open_rig(tmp_path, (ONE, ONE, ONE, says("x")), tools=(tool,), hooks=(adder,)) as rig:
        await rig.say("go")
        assert rig.results() == ["run 1", "run 2", "run 2"]


async def test_while_a_process_runs_in_the_background_every_read_runs(tmp_path: Path) -> None:
    begin = calls(("b", "bash", json.dumps({"command": "sleep 600", "background": True})))
    end = calls(("k", "bash_kill", '{"id": "bg1"}'))
    tool = look()
    replies = (ONE, ONE, begin, ONE, ONE, end, ONE, ONE, says("x"))
    async with open_rig(tmp_path, replies, "[guards]\nloop = 'off'\n", tools=(tool,)) as rig:
        await rig.say("go")
        told = [text for text in rig.results() if text.startswith("run")]
        assert told == ["run 1", "run 1", "run 2", "run 3", "run 4", "run 4"]


async def test_a_follower_runs_itself_when_the_leader_was_stopped(tmp_path: Path) -> None:
    """The leader fails; whoever waited for the same call must neither fail with it nor wait for ever."""

    async def fails_once(_call: ToolCall) -> ToolResult:
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        if len(tool.seen) == 1:
            raise ValueError("the first one")
        return ToolResult("second")

    tool = Made("look", fails_once, reads=True, pure=True)
    wanted = calls(("1", "look", "{}"), ("2", "look", "{}"), ("3", "look", "{}"))
    async with open_rig(tmp_path, (wanted, says("x")), tools=(tool,)) as rig:
        await rig.say("go")
        results = sorted(text.splitlines()[0] for text in rig.results())
        assert results == ["ERROR (fatal) look: ValueError: the first one", "second", "second"]


async def test_what_cannot_be_written_as_json_fails_no_turn(tmp_path: Path) -> None:
    deep: list[Json] = []
    for _ in range(100_000):
        deep = [deep]

    async def nests(_call: ToolCall) -> ToolResult:
        return ToolResult("deep", data={"deep": deep})

    tool = Made("look", nests, reads=True, pure=True)
    async with open_rig(tmp_path, (ONE, says("x")), tools=(tool,)) as rig:
        assert await rig.say("go") == ["x"]
