"""Agents that hand tasks to others: through the whole gate, bounded, and ended with whoever asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.assembly.logs.sinks import trace
from hookgate.protocol.approval import OPERATOR, Decision
from hookgate.protocol.chat import Inbound
from hookgate.protocol.events.inside import CallProgressed
from hookgate.protocol.events.payloads import ApprovalRequested, TurnEnd, TurnStart
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer
from hookgate.protocol.hook.stages import Question, Stage
from tests.cli.rpc_client import one, open_rpc, scripted
from tests.cli.zot.test_zot_gateway import open_gateway
from tests.flow.gateway import child
from tests.flow.tools.tooling import Made, open_rig
from tests.flow.zot.test_flow_zot_call_tool import answer as heard_by
from tests.flow.zot.test_flow_zot_call_tool import caller, wants
from tests.loop.recording import CHAT, OTHER, hook
from tests.model_server import SILENT, Received, calls, fails, says
from tests.model_server import Answer as Said

TEAM = 'delegates_to = ["researcher"]'
AGENTS = """
[agents.researcher]
description = "finds things out"
system = "You research."
model = "p/r"
"""
RULE = '[[approvals]]\ntools = ["look"]\n'
Script = Mapping[tuple[str, str], Said]


def hands(*tasks: str, **more: str) -> Said:
    return calls(*((f"d{it}", "delegate", json.dumps({"task": task, **more})) for it, task in enumerate(tasks)))


def looks() -> Said:
    return calls(("c1", "look", "{}"))


def script(said: Script, usual: Said) -> Callable[[Received], Said]:
    """By the model that is asked, and what the message that it is asked about begins with."""

    def answer(received: Received) -> Said:
        model, about = received.body["model"], str(received.body["messages"][-1]["content"])
        found = (it for (whose, begins), it in said.items() if whose == model and about.startswith(begins))
        return next(found, usual)

    return answer


async def test_a_task_is_done_by_another_agent_and_its_answer_goes_to_the_one_that_asked(tmp_path: Path) -> None:
    look = Made("look", reads=True)
    said = hands("find the milk", context="It is cold."), looks(), says("On ice."), says("Ice.")
    async with open_rig(tmp_path, said, AGENTS, agent=TEAM, tools=[look]) as rig:
        assert await rig.say("where is the milk?") == ["Ice."]
        assert rig.results() == ["On ice."]
        asked = [it.body for it in rig.server.requests]
        tally = rig.runtime.agent.tally
    assert [it["model"] for it in asked] == ["m", "r", "r", "m"]
    assert asked[1]["messages"] == [
        {"role": "system", "content": "You research."},
        {"role": "user", "content": "find the milk\n\nIt is cold."},
    ]
    [offered] = [it["function"] for it in asked[0]["tools"] if it["function"]["name"] == "delegate"]
    assert offered["parameters"]["properties"]["agent"]["enum"] == ["researcher"]
    assert "finds things out" in offered["parameters"]["properties"]["agent"]["description"]
    # Whoever may hand nothing on has no tool for it.
    assert "delegate" not in [it["function"]["name"] for it in asked[1]["tools"]]
    assert len(look.seen) == 1
    main, other = (event.step for event in rig.events if isinstance(event.payload, TurnStart))
    assert main is not None
    assert other is not None
    assert (main.agent, other.agent, other.parent_turn_id) == ("main", "researcher", main.turn_id)
    assert (tally.calls, tally.allowed, tally.executed) == (2, 2, 2)
    assert [it.piece for it in rig.payloads(CallProgressed)] == ["researcher: look\n"]


RECORDER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    params, said = asked["params"], {"action": "continue"}
    if asked["method"] == "hook.hello":
        said = {"stages": params["stages"]}
    else:
        with open(sys.argv[1], "a") as file:
            meta = params["meta"]
            file.write(json.dumps([asked["method"], meta["AgentID"], meta["TurnID"], meta["ParentTurnID"]]) + "\\n")
        if asked["method"] == "hook.before_tool" and params["tool"] == "bash":
            said = {"action": "deny_tool", "reason": "not for " + meta["AgentID"]}
        if asked["method"] == "hook.approve_tool":
            said = {"approved": True}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""


async def test_a_hook_process_judges_all_that_an_agent_does_for_another(tmp_path: Path) -> None:
    stages = '["before_llm", "after_llm", "before_tool", "approve_tool", "after_tool", "on_message", "before_send"]'
    rest = f'intercept = {stages}\non_failure = "deny"\n'
    config = child("judge", tmp_path / "judge.py", RECORDER, rest).replace(
        'judge.py"]', f'judge.py", "{tmp_path / "asked"}"]'
    )
    run = calls(("c1", "bash", json.dumps({"command": "touch made"})))
    said = hands("make it"), run, says("I may not."), says("No.")
    async with open_rig(tmp_path, said, AGENTS + config, agent=TEAM) as rig:
        assert await rig.say("go") == ["No."]
        assert rig.results() == ["I may not."]
        assert not (tmp_path / "made").exists()
        told = rig.server.requests[2].body["messages"][-1]["content"]
    assert "not for researcher" in told
    asked = [json.loads(line) for line in (tmp_path / "asked").read_text().splitlines()]
    turn = asked[0][2]
    of_main = [stage.removeprefix("hook.") for stage, agent, *_ in asked if agent == "main"]
    of_other = [(stage.removeprefix("hook."), parent) for stage, agent, _, parent in asked if agent == "researcher"]
    usual = ["before_llm", "after_llm"]
    assert of_main == ["on_message", *usual, "before_tool", "approve_tool", "after_tool", *usual, "before_send"]
    # What it is asked, and what it answers, stands in no chat.
    assert of_other == [(stage, turn) for stage in (*usual, "before_tool", *usual)]


async def test_tasks_lead_to_each_other_two_deep_and_never_in_a_circle(tmp_path: Path) -> None:
    """`main` asks `researcher`, which asks `writer`; neither the third nor the first can be asked from there."""
    agents = AGENTS + 'delegates_to = ["writer", "main"]\n[agents.writer]\nmodel = "p/w"\ndelegates_to = ["writer"]\n'
    said = {
        ("m", "go"): hands("first"),
        ("r", "first"): calls(
            ("d1", "delegate", '{"task": "back", "agent": "main"}'),
            ("d2", "delegate", '{"task": "second", "agent": "writer"}'),
            ("d3", "delegate", '{"task": "nobody", "agent": "stranger"}'),
        ),
        ("w", "second"): hands("third"),
    }
    async with open_rig(tmp_path, (), agents, agent=TEAM) as rig:
        rig.server.otherwise = script(said, says("done"))
        assert await rig.say("go") == ["done"]
        told = {it.body["model"]: it.body["messages"] for it in rig.server.requests}
    circle, done, stranger = [it["content"] for it in told["r"] if it["role"] == "tool"]
    assert circle.startswith("ERROR (permission) delegate: main waits for researcher: a task does not go round")
    assert done == "done"
    assert "'main', 'writer'" in stranger or "writer" in stranger
    [deep] = [it["content"] for it in told["w"] if it["role"] == "tool"]
    assert deep.startswith("ERROR (budget) delegate: tasks lead to each other 2 deep already")


async def test_an_agent_that_stands_in_its_own_list_hands_tasks_to_itself(tmp_path: Path) -> None:
    said = {("m", "go"): hands("half"), ("m", "half"): hands("quarter")}
    async with open_rig(tmp_path, (), agent='delegates_to = ["main"]') as rig:
        rig.server.otherwise = script(said, says("done"))
        assert await rig.say("go") == ["done"]
        assert [event.step.agent for event in rig.events if isinstance(event.payload, TurnStart) and event.step] == [
            *("main", "main", "main")
        ]


async def test_twenty_tasks_are_worked_on_a_few_at_once_and_no_more_are_begun_than_may(tmp_path: Path) -> None:
    at_work, most = set[str](), 0

    async def count(question: Question) -> Answer:
        nonlocal most
        if question.step.parent_turn_id:
            at_work.add(question.step.turn_id)
            most = max(most, len(at_work))
            for _ in range(20):
                await trio.lowlevel.checkpoint()
        return CONTINUE

    async def ended(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        at_work.discard(question.step.turn_id)
        return CONTINUE

    limits = "[tools.delegate]\nat_once = 3\nper_turn = 15\n"
    counting = hook("count", {Stage.BEFORE_LLM: count, Stage.AFTER_LLM: ended})
    tasks = [f"task {number}" for number in range(20)]
    async with open_rig(tmp_path, (hands(*tasks),), AGENTS + limits, agent=TEAM, hooks=[counting]) as rig:
        await rig.say("go")
        results = rig.results()
    refused = "ERROR (budget) delegate: this message has led to 15 tasks already"
    assert [it.startswith(refused) or it == task for it, task in zip(results, tasks, strict=True)] == [True] * 20
    assert sum(it.startswith(refused) for it in results) == 5
    assert most == 3


async def test_a_person_is_asked_about_a_call_of_its_and_nothing_is_held_meanwhile(tmp_path: Path) -> None:
    look = Made("look")
    said = {("m", "go"): hands("first", "second"), ("r", "first"): looks(), ("r", "look ran"): says("seen")}
    more = f"{AGENTS}{RULE}[gateway]\nmax_turns = 1\n[tools.delegate]\nat_once = 1\n"
    traced = list[str]()
    async with open_rig(tmp_path, (), more, agent=TEAM, tools=[look], hooks=[trace(traced.append)]) as rig:
        rig.server.otherwise = script(said, says("fine"))
        await rig.runtime.gateway.receive(Inbound(CHAT, "go"))
        await rig.room.asking.wait()
        # The one place is free meanwhile.
        assert await rig.say("hello", OTHER) == ["fine"]
        [shown] = rig.room.asked
        assert shown.title == "The agent researcher wants to run look."
        await rig.runtime.gateway.receive(Inbound(CHAT, f"/approve {shown.id}"))
        await rig.runtime.gateway.idle(CHAT.session_key)
        assert rig.results() == ["seen", "fine"]
        [request] = [event for event in rig.events if isinstance(event.payload, ApprovalRequested)]
    assert request.step is not None
    assert request.step.agent == "researcher"
    calls_of = ["in the task of agent researcher" in it for it in traced if it.startswith("  | model call")]
    assert (calls_of.count(False), calls_of.count(True)) == (3, 3)
    assert len(look.seen) == 1


async def test_a_stop_ends_what_was_begun_and_the_next_message_is_answered(tmp_path: Path) -> None:
    said = {("m", "go"): hands("ask", "wait"), ("r", "ask"): looks(), ("r", "wait"): SILENT}
    async with open_rig(tmp_path, (), AGENTS + RULE, agent=TEAM, tools=[Made("look")]) as rig:
        rig.server.otherwise = script(said, says("fine"))
        await rig.runtime.gateway.receive(Inbound(CHAT, "go"))
        await rig.room.asking.wait()
        while len(rig.server.requests) < 3:
            await trio.lowlevel.checkpoint()
        assert await rig.say("/stop") == ["Stopped."]
        assert [it.Status for it in rig.payloads(TurnEnd)] == ["aborted"] * 3
        assert not await rig.runtime.agent.approvals.pending()
        [shown] = rig.room.asked
        late = await rig.runtime.agent.approvals.decide(shown.id, Decision(True, "late"), OPERATOR)
        assert not late.counted
        assert await rig.say("again") == ["fine"]


SLOW = "[tools.delegate]\ntimeout_ms = 100\n"
FAILURES = (
    (
        fails(401, "no such key"),
        "",
        "ERROR (fatal) delegate: researcher: the model call failed (auth): p: ",
    ),
    (fails(500, "broken"), "", "ERROR (transient) delegate: researcher: the model call failed (server)"),
    (looks(), "max_steps = 1\n", "ERROR (budget) delegate: researcher still wanted to run tools after 1 model calls"),
    (says("x"), "", "ERROR (permission) delegate: researcher: hook stop aborted the turn at before_llm: enough"),
    (SILENT, SLOW, "ERROR (transient) delegate: researcher was not done after 0.1 s"),
)


@pytest.mark.parametrize(("said", "more", "result"), FAILURES)
async def test_a_task_that_fails_is_a_result_with_its_kind(
    tmp_path: Path, said: Said, more: str, result: str
) -> None:
    async def stop(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        stops = question.step.agent == "researcher" and "hook stop" in result
        return Abort("enough") if stops else CONTINUE

    config = f'{AGENTS}{more}[guards]\nloop = "off"\n'
    parts: dict[str, Any] = {"agent": f"{TEAM}\nretries = 0", "tools": [Made("look")]}
    async with open_rig(tmp_path, (), config, hooks=[hook("stop", {Stage.BEFORE_LLM: stop})], **parts) as rig:
        rig.server.otherwise = script({("m", "go"): hands("do it"), ("r", ""): said}, says("I see."))
        assert await rig.say("go") == ["I see."]
        assert rig.results()[0].startswith(result)


async def test_a_hard_abort_in_a_task_stops_the_conversation_it_was_for(tmp_path: Path) -> None:
    async def stop(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Abort("enough", hard=True) if question.step.parent_turn_id else CONTINUE

    stopping = hook("stop", {Stage.BEFORE_LLM: stop})
    async with open_rig(tmp_path, (hands("one", "two"),), AGENTS, agent=TEAM, hooks=[stopping]) as rig:
        assert await rig.say("go") == ["hook stop stopped this conversation at before_llm: enough"]
        assert not rig.messages()


async def test_a_person_is_not_asked_in_a_task_while_a_tool_of_an_extension_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))
    ext = caller(tmp_path, wants("delegate", {"task": "write it"}, "1"))
    routed = 'delegates_to = ["researcher"]\n[[routes]]\nagent = "researcher"\n'
    more = f'{AGENTS}{routed}[[approvals]]\ntools = ["write"]\n'
    write = calls(("c1", "write", json.dumps({"path": "made", "content": "x"})))
    said = calls(("1", "outer", "{}")), write, says("It did not work."), says("Done.")
    async with open_gateway(tmp_path, [ext], *said, config=more) as flow:
        assert await flow.say("go") == ["Done."]
        told = flow.server.requests[2].body["messages"][-1]["content"]
    assert "a person would have to be asked, and outer, which makes this call, runs meanwhile" in told
    assert heard_by(ext) == (False, "It did not work.")


async def test_a_client_of_rpc_hears_of_the_call_alone_and_of_what_the_task_costs(tmp_path: Path) -> None:
    more = '[agents.other]\nmodel = "p/m"\n[agents.other.options]\n'
    first = {"calls": [{"name": "delegate", "arguments": {"task": "look"}, "id": "d1"}]}
    folder = scripted(
        tmp_path, first, {"calls": [{"name": "ls", "id": "c1"}]}, {"text": "seen"}, {"text": "Done."}, more=more
    )
    file = folder / "hookgate.toml"
    file.write_text(file.read_text().replace("[agent]\n", '[agent]\ndelegates_to = ["other"]\n'))
    async with open_rpc(folder) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        assert await client.ends() == 0
    assert [it["step"] for it in frames if it["type"] == "turn_start"] == [1, 2]
    assert [it["id"] for it in frames if it["type"] == "tool_call"] == ["d1"]
    assert one(frames, "tool_progress")["text"] == "other: ls\n"
    assert one(frames, "tool_result")["content"] == [{"type": "text", "text": "seen"}]
    # Each of four model calls.
    assert len([it for it in frames if it["type"] == "usage"]) == 4
