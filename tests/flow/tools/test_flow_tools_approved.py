"""What runs is the very call that was judged and approved, however preferences, aliases and hooks shaped it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import trio
from pydantic import Field

from hookgate.protocol.approval import ApprovalRequest, Decide, Decision
from hookgate.protocol.events.payloads import ApprovalRequested, ToolExecStart
from hookgate.protocol.hook.answers import CONTINUE, Answer, Approve, Ask, Modify, Respond
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import LLMRequest, ToolCall, ToolPreference, ToolResult, ToolSpec
from hookgate.tools.functions.typed import typed
from tests.flow.tools.tooling import Made, Named, Rig, called, open_rig
from tests.loop.recording import CHAT, Room, hook
from tests.model_server import calls, says

RULE = '[[approvals]]\ntools = ["work"]\n'
YES = Decision(True, "ann")
SESSION = replace(YES, grant="session")
OTHER_TOOL = Matcher({"tools": Globs(("other",))})
OPEN = {"type": "object", "properties": {"path": {"type": "string"}, "mode": {"type": "string"}}}


def approved(rig: Rig) -> list[dict[str, Any]]:
    return [dict(request.call.arguments) for request in rig.room.asked]


async def test_preferences_and_aliases_are_in_what_hooks_judge_people_approve_and_the_tool_gets(
    tmp_path: Path,
) -> None:
    config = (
        '[tools.aliases.read]\nfile_path = "path"\n'
        '[[tools.preferences]]\ntools = ["read"]\noverrides = { limit = 2 }\n'
        '[[approvals]]\ntools = ["read"]\n'
    )
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    wanted = calls(("1", "read", '{"file_path": "a.txt"}'))
    async with open_rig(tmp_path, (wanted, says("x")), config) as rig:
        rig.room.answers = [YES]
        await rig.say("go")
        judged = [json.loads(params)["arguments"] for params in rig.asked(Stage.BEFORE_TOOL)]
        assert judged == approved(rig) == [{"path": "a.txt", "limit": 2}]
        assert [start.Arguments for start in rig.payloads(ToolExecStart)] == approved(rig)
        assert "two" in rig.results()[0]
        assert "three" not in rig.results()[0]


async def test_what_a_hook_makes_of_a_call_is_what_a_person_is_asked_about(tmp_path: Path) -> None:
    tool = Made("work", parameters=OPEN, preference=ToolPreference(overrides={"mode": "usual"}))
    drops = hook("drops", {Stage.BEFORE_TOOL: Modify({"arguments": {"path": "b"}})})
    wanted = calls(("1", "work", '{"path": "a", "mode": "own"}'))
    async with open_rig(tmp_path, (wanted, says("x")), RULE, tools=(tool,), hooks=(drops,)) as rig:
        rig.room.answers = [YES]
        await rig.say("go")
        assert approved(rig) == [dict(call.arguments) for call in tool.seen] == [{"path": "b", "mode": "usual"}]


class Late(Room):
    """The answer of a person comes when the test says so."""

    def __init__(self) -> None:
        super().__init__([])
        self.answered = trio.Event()

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        self.asked.append(request)
        await self.answered.wait()
        await decide(SESSION)


async def test_a_yes_that_comes_with_a_stop_runs_nothing(tmp_path: Path) -> None:
    tool, room = Made("work"), Late()
    async with open_rig(tmp_path, (calls(("1", "work", "{}")), says("x")), RULE, tools=(tool,), room=room) as rig:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.say, "go")
            while not room.asked:
                await trio.lowlevel.checkpoint()
            # Both in the same moment: the turn has its answer and its end before it runs again.
            room.answered.set()
            await rig.say("/stop")
        assert tool.seen == []


async def test_a_hook_may_ask_a_person_about_calls_in_text_alone(tmp_path: Path) -> None:
    async def asks(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Ask("A call in text?") if called(question).origin == "text" else Approve()

    tag = f"<tool_call>{json.dumps({'name': 'work', 'arguments': {'path': 'text'}})}</tool_call>"
    replies = (says(tag), says(tag), calls(("1", "work", '{"path": "native"}')), says("x"))
    tool = Made("work")
    async with open_rig(
        tmp_path, replies, tools=(tool,), hooks=(hook("careful", {Stage.APPROVE_TOOL: asks}),)
    ) as rig:
        rig.room.answers = [Decision(False, "ann", "no"), YES]
        await rig.say("go")
        assert [dict(call.arguments) for call in tool.seen] == [{"path": "text"}, {"path": "native"}]
        assert [it.title for it in rig.payloads(ApprovalRequested)] == ["A call in text?"] * 2


async def test_a_rule_may_be_about_calls_in_text_alone_whatever_a_hook_makes_of_them(tmp_path: Path) -> None:
    tag = f"<tool_call>{json.dumps({'name': 'other', 'arguments': {}})}</tool_call>"
    replies = (says(tag), calls(("1", "work", "{}")), says("x"))
    renames = hook("renames", {Stage.BEFORE_TOOL: Modify({"name": "work"})}, match=OTHER_TOOL)
    tool, rule = Made("work"), f'{RULE}origins = ["text"]\n'
    async with open_rig(tmp_path, replies, rule, tools=(tool, Made("other")), hooks=(renames,)) as rig:
        rig.room.answers = [Decision(False, "ann", "no")]
        await rig.say("go")
        assert [call.origin for call in tool.seen] == ["native"]
        assert [(it.call.name, it.call.origin) for it in rig.room.asked] == [("work", "text")]


async def test_a_tool_that_is_off_on_a_channel_is_neither_offered_nor_callable_there(tmp_path: Path) -> None:
    config = '[[tools.preferences]]\ntools = ["work"]\nchannels = ["public"]\nenabled = false\n'
    public, tool = Named("public"), Made("work")
    renames = hook("renames", {Stage.BEFORE_TOOL: Modify({"name": "work"})}, match=OTHER_TOOL)
    wanted = calls(("1", "work", "{}"), ("2", "other", "{}"))
    chat = replace(CHAT, channel="public")
    async with open_rig(
        tmp_path,
        (says(_tag()), wanted, says("x")),
        config,
        tools=(tool, Made("other")),
        hooks=(renames,),
        rooms=(public,),
    ) as rig:
        await rig.say("go", chat)
        assert tool.seen == []
        assert "work" not in rig.offered(0)
        assert [text.splitlines()[0] for text in rig.results(chat)] == [
            "ERROR (not_found) work: there is no tool named 'work'"
        ] * 2
        rig.server.answers[:] = [wanted, says("x")]
        await rig.say("go")
        assert "work" in rig.offered()
        assert len(tool.seen) == 2


def _tag() -> str:
    return '<tool_call>{"name": "work", "arguments": {}}</tool_call>'


async def test_calls_that_hooks_rename_into_changing_ones_run_alone_in_order_and_void_the_memo(
    tmp_path: Path,
) -> None:
    running, most = 0, 0

    async def works(_call: ToolCall) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await trio.lowlevel.checkpoint()
        running -= 1
        return "worked"

    work, look = Made("work", works), Made("look", works, reads=True, pure=True)

    async def renames(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Modify({"name": "work"}) if called(question).arguments.get("n") == 2 else CONTINUE

    numbers: Sequence[int] = (1, 2, 1, 3)
    wanted = calls(*((f"c{at}", "look", json.dumps({"n": n})) for at, n in enumerate(numbers)))
    again = calls(("d", "look", '{"n": 1}'))
    hooks = (hook("renames", {Stage.BEFORE_TOOL: renames}),)
    async with open_rig(tmp_path, (wanted, again, says("x")), tools=(work, look), hooks=hooks) as rig:
        await rig.say("go")
        assert most == 1
        assert len(work.seen) == 1
        # Before and after the change, and once more after it is kept.
        assert [call.arguments["n"] for call in look.seen] == [1, 1, 3]
        assert rig.runtime.agent.tally.cached == 1


async def test_a_grant_for_one_tool_is_none_for_another_that_a_hook_answers_in_its_name(tmp_path: Path) -> None:
    answers = hook("mock", {Stage.BEFORE_TOOL: Respond(ToolResult("mocked"), {"name": "work"})}, match=OTHER_TOOL)
    rule = '[[approvals]]\ntools = ["work", "other"]\n'
    wanted = calls(("1", "work", "{}"), ("2", "other", '{"path": "secret place"}'))
    async with open_rig(
        tmp_path, (wanted, says("x")), rule, tools=(Made("work"), Made("other")), hooks=(answers,)
    ) as rig:
        rig.room.answers = [SESSION, Decision(False, "ann", "not that")]
        await rig.say("go")
        assert [request.call.name for request in rig.room.asked] == ["work", "other"]
        assert rig.results() == ["work ran", "Tool execution denied by approval: not that"]


async def test_a_person_who_is_asked_about_an_answered_call_sees_what_the_model_asked_for(tmp_path: Path) -> None:
    answers = hook("mock", {Stage.BEFORE_TOOL: Respond(ToolResult("mocked"), {"arguments": {"path": "harmless"}})})
    wanted = calls(("1", "work", '{"path": "precious"}'))
    async with open_rig(tmp_path, (wanted, says("x")), RULE, tools=(Made("work"),), hooks=(answers,)) as rig:
        rig.room.answers = [YES]
        await rig.say("go")
        assert approved(rig) == [{"path": "precious"}]


async def test_a_yes_that_comes_with_the_end_of_the_conversation_grants_nothing_in_the_next(tmp_path: Path) -> None:
    tool, room = Made("work"), Late()
    replies = (calls(("1", "work", "{}")), calls(("2", "work", "{}")), says("x"))
    async with open_rig(tmp_path, replies, RULE, tools=(tool,), room=room) as rig:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.say, "go")
            while not room.asked:
                await trio.lowlevel.checkpoint()
            # Both in the same moment: the turn has its answer and its end before it runs again.
            room.answered.set()
            await rig.say("/new")
        rig.server.answers[:] = [calls(("2", "work", "{}")), says("x")]
        await rig.say("again")
        assert len(room.asked) == 2


def sized(path: str, count: Annotated[int, Field(ge=1)] = 3) -> str:
    """Takes a path."""
    return f"{path} {count}"


async def test_defaults_stand_in_the_approval_although_a_hook_rewrote_the_schema(tmp_path: Path) -> None:
    async def describes(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, LLMRequest)
        return Modify({"tools": tuple(_described(spec) for spec in question.subject.tools)})

    rule = '[[approvals]]\ntools = ["sized"]\n'
    wanted = calls(("1", "sized", '{"path": "a", "count": 2}'), ("2", "sized", '{"path": "b"}'))
    tool = typed(sized)
    async with open_rig(
        tmp_path,
        (wanted, says("x")),
        rule,
        tools=(tool,),
        hooks=(hook("describer", {Stage.BEFORE_LLM: describes}),),
    ) as rig:
        rig.room.answers = [YES, YES]
        await rig.say("go")
        assert rig.results() == ["a 2", "b 3"]
        assert approved(rig) == [{"path": "a", "count": 2}, {"path": "b", "count": 3}]


def _described(spec: ToolSpec) -> ToolSpec:
    return replace(spec, parameters={**spec.parameters, "description": "changed"}) if spec.name == "sized" else spec
