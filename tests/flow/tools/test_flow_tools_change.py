"""Tools that come, go or change while conversations run; and who may use the workspace meanwhile."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import trio

from hookgate.protocol.events.payloads import HookFailed, RegistryChanged, ToolExecSkipped
from hookgate.protocol.hook.answers import CONTINUE, Answer, Modify, Respond
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import LLMRequest, ToolCall, ToolResult, ToolSpec
from hookgate.tools.lease import Held
from hookgate.tools.mcp import connection
from tests.flow.tools.tooling import Made, open_rig
from tests.loop.recording import OTHER, hook
from tests.model_server import Answer as Reply
from tests.model_server import calls, says
from tests.processes import until

ODD = Path(__file__).parents[2] / "tools" / "mcp" / "servers" / "odd.py"


async def test_a_tool_that_comes_while_a_turn_runs_is_callable_at_the_next_model_call(tmp_path: Path) -> None:
    late = Made("late")

    async def adds(_call: ToolCall) -> str:
        rig.add(late)
        return "added"

    first = calls(("1", "adder", "{}"), ("2", "late", "{}"))
    async with open_rig(
        tmp_path, (first, calls(("3", "late", "{}")), says("x")), tools=(Made("adder", adds),)
    ) as rig:
        await rig.say("go")
        added, early, then = rig.results()
        assert (added, then) == ("added", "late ran")
        assert early.startswith("ERROR (not_found) late: there is no tool named 'late'")
        assert ("late" in rig.offered(0), "late" in rig.offered(1)) == (False, True)
        assert len(late.seen) == 1


async def test_a_tool_that_goes_during_a_turn_is_told_to_have_gone(tmp_path: Path) -> None:
    going = Made("going", provider="mcp:away")

    async def removes(_call: ToolCall) -> str:
        rig.runtime.tools.registry.unregister_provider("mcp:away")
        return "removed"

    first = calls(("1", "going", "{}"), ("2", "remover", "{}"), ("3", "going", "{}"))
    replies = (first, calls(("4", "going", "{}")), says("x"))
    async with open_rig(tmp_path, replies, tools=(going, Made("remover", removes))) as rig:
        await rig.say("go")
        assert rig.results() == [
            "going ran",
            "removed",
            "ERROR (not_found) going: going was removed during this turn\nGo on without it.",
            "ERROR (not_found) going: there is no tool named 'going'\nCheck the name.",
        ]
        assert len(going.seen) == 1
        assert [it.ErrorKind for it in rig.payloads(ToolExecSkipped)] == ["not_found"] * 2


async def test_a_tool_that_goes_while_a_person_thinks_never_runs(tmp_path: Path) -> None:
    from hookgate.protocol.approval import Decision

    going = Made("going", provider="mcp:away")
    rule = '[[approvals]]\ntools = ["going"]\n'
    async with open_rig(tmp_path, (calls(("1", "going", "{}")), says("x")), rule, tools=(going,)) as rig:

        async def removes(_question: Question) -> Answer:
            rig.runtime.tools.registry.unregister_provider("mcp:away")
            await trio.lowlevel.checkpoint()
            return CONTINUE

        rig.runtime.gate.mount([*rig.runtime.gate.mounts, hook("remover", {Stage.BEFORE_TOOL: removes})])
        rig.room.answers = [Decision(True, "ann")]
        await rig.say("go")
        assert going.seen == []
        assert rig.results()[0].startswith("ERROR (not_found) going: going was removed")


async def test_a_tool_that_is_replaced_during_a_turn_is_the_old_one_until_the_next_model_call(tmp_path: Path) -> None:
    old, new = Made("tool"), Made("tool")

    async def replaces(_call: ToolCall) -> str:
        rig.add(new)
        return "replaced"

    first = calls(("1", "replacer", "{}"), ("2", "tool", "{}"))
    replies = (first, calls(("3", "tool", "{}")), says("x"))
    async with open_rig(tmp_path, replies, tools=(old, Made("replacer", replaces))) as rig:
        await rig.say("go")
        assert (len(old.seen), len(new.seen)) == (1, 1)


async def test_a_tool_that_covers_another_gives_it_back(tmp_path: Path) -> None:
    under, over = Made("tool", provider="mcp:under"), Made("tool", provider="mcp:over")
    one = calls(("1", "tool", "{}"))
    async with open_rig(tmp_path, (one, says("x"), one, says("x")), tools=(under, over)) as rig:
        await rig.say("go")
        rig.runtime.tools.registry.unregister_provider("mcp:over")
        await rig.say("go")
        assert (len(under.seen), len(over.seen)) == (1, 1)
        shadowed = [it.shadowed for it in rig.payloads(RegistryChanged) if it.shadowed]
        assert shadowed == [("tool",)]


SERVER = """
import os, sys
if os.path.exists("died"):
    open("gate").read()
open("died", "w").close()
os.execv(sys.executable, [sys.executable, {odd!r}, "good"])
"""


async def test_a_tool_of_a_server_that_is_lost_is_told_to_come_back_and_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts again once somebody has said a word."""
    monkeypatch.setattr(connection, "FIRST_DELAY_S", 1e-3)
    os.mkfifo(tmp_path / "gate")
    (tmp_path / "server.py").write_text(SERVER.format(odd=str(ODD)))
    config = f'[mcp.servers.odd]\ncommand = ["{sys.executable}", "server.py"]\nrequired = true\n'
    echo = ("1", "odd__echo", '{"text": "x"}')
    dies = calls(("2", "odd__die", "{}"), ("3", "odd__echo", '{"text": "x"}'))
    said = (dies, calls(echo), says("x"), calls(echo), says("x"), calls(echo), says("x"))
    async with open_rig(tmp_path, said, config) as rig:
        await rig.say("go")
        died, *others = rig.results()
        assert died.startswith("ERROR (transient) odd__die: the MCP server is gone: it was killed by SIGKILL")
        why = "the MCP server odd is not there now (it was killed by SIGKILL)"
        away = f"ERROR (transient) odd__echo: {why}; its tool odd__echo will be back"
        assert others == [f"{away}\nTry again later, or go on without it."] * 2
        assert "odd__echo" not in rig.offered(1)
        with trio.fail_after(20):
            await trio.to_thread.run_sync((tmp_path / "gate").write_text, "go", abandon_on_cancel=True)
        roster = rig.runtime.more.roster
        assert roster is not None
        await until(lambda: roster.connections.statuses()[0].state == "up")
        await rig.say("go")
        assert rig.results()[-1].endswith("\nx")
        await roster.connections.disconnect("odd")
        await rig.say("go")
        assert rig.results()[-1].startswith("ERROR (not_found) odd__echo: there is no tool named 'odd__echo'")


async def test_a_description_that_is_set_during_a_turn_is_in_the_next_request(tmp_path: Path) -> None:
    config = f'[store]\npath = "{tmp_path / "store.db"}"\n'
    (tmp_path / "store.db").touch()

    async def describes(_call: ToolCall) -> str:
        await rig.runtime.tools.descriptions.set("tool", "Another text.")
        return "described"

    tools = (Made("tool"), Made("describer", describes))
    wanted = calls(("1", "describer", "{}"), ("2", "tool", "{}"))
    async with open_rig(tmp_path, (wanted, says("x")), config, tools=tools) as rig:
        await rig.say("go")
        assert rig.results() == ["described", "tool ran"]
        texts = [
            tool["function"]["description"]
            for request in rig.server.requests
            for tool in request.body["tools"]
            if tool["function"]["name"] == "tool"
        ]
        assert texts == ["The tool tool.", "Another text."]


BROKEN = {
    "no schema at all": {"type": "nonsense"},
    "an array": {"type": "array"},
    "a text": {"type": "string"},
    "a loop of references": {"$ref": "#"},
    "a reference to elsewhere": {"$ref": "https://127.0.0.1:9/x.json"},
    "a file": {"$ref": "file:///etc/passwd"},
    "a pattern that is none": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
    "too much": {"type": "object", "description": "x" * 40_000},
}


@pytest.mark.parametrize("name", BROKEN)
async def test_an_injected_tool_whose_schema_is_broken_is_refused_and_the_others_are_offered(
    tmp_path: Path, name: str
) -> None:
    async def adds(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, LLMRequest)
        bad, good = ToolSpec("bad", "", BROKEN[name]), ToolSpec("good", "", {"type": "object"})
        return Modify({"tools": (*question.subject.tools, bad, good)})

    async def answers(_question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Respond(ToolResult("done"))

    wanted = calls(("1", "bad", "{}"), ("2", "good", "{}"))
    async with open_rig(
        tmp_path,
        (wanted, says("x")),
        hooks=(hook("owner", {Stage.BEFORE_LLM: adds, Stage.BEFORE_TOOL: answers}),),
    ) as rig:
        await rig.say("go")
        assert "good" in rig.offered(0)
        assert "bad" not in rig.offered(0)
        assert rig.results()[0].startswith("ERROR (not_found) bad:")
        assert rig.results()[1] == "done"
        assert [failed.hook for failed in rig.payloads(HookFailed)] == ["owner"]


async def test_an_edit_waits_for_the_edit_of_another_conversation(tmp_path: Path) -> None:
    go_on, order = trio.Event(), list[str]()

    async def writes(call: ToolCall) -> str:
        order.append(f"{call.arguments['who']} in")
        await go_on.wait()
        order.append(f"{call.arguments['who']} out")
        return "written"

    def write(who: str) -> Reply:
        return calls(("1", "work", json.dumps({"who": who})))

    tool = Made("work", writes, access="write")
    async with open_rig(tmp_path, (write("a"), write("b"), says("x"), says("x")), tools=(tool,)) as rig:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.say, "go")
            nursery.start_soon(rig.say, "go", OTHER)
            while len(rig.asked(Stage.APPROVE_TOOL)) < 2:
                await trio.lowlevel.checkpoint()
            while not order:
                await trio.lowlevel.checkpoint()
            for _ in range(20):
                await trio.lowlevel.checkpoint()
            assert len(order) == 1
            go_on.set()
        first = order[0][0]
        second = "b" if first == "a" else "a"
        assert order == [f"{first} in", f"{first} out", f"{second} in", f"{second} out"]


@pytest.mark.parametrize("ending", ["/stop", "/new"])
async def test_a_turn_that_ends_while_it_waits_for_the_workspace_leaves_it_to_the_others(
    tmp_path: Path, ending: str
) -> None:
    tool = Made("work", access="write")
    one = calls(("1", "work", "{}"))
    async with open_rig(tmp_path, (one, one, says("x"), says("later")), tools=(tool,)) as rig:
        async with Held(rig.runtime.agent.around.lease, "write", "another"), trio.open_nursery() as nursery:
            nursery.start_soon(rig.say, "go")
            nursery.start_soon(rig.say, "go", OTHER)
            while len(rig.asked(Stage.APPROVE_TOOL)) < 2:
                await trio.lowlevel.checkpoint()
            await rig.say(ending)
            nursery.cancel_scope.cancel()
        await rig.runtime.gateway.idle(OTHER.session_key)
        assert len(tool.seen) == 1
        assert rig.results(OTHER) == ["work ran"]
