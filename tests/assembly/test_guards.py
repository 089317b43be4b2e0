"""The configured guards in a running turn: where they stand, what the model is told, what events say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hookgate.assembly.hooks.guards import guard_mounts
from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import GateDecision, HookFailed, ToolExecSkipped
from hookgate.protocol.hook.answers import Answer, Deny, Failed, Modify
from hookgate.protocol.hook.match import Observed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.providers.scripted import ScriptedCall, ScriptStep
from hookgate.sections.guards import GuardsSection
from hookgate.tools.select import Selection
from tests.guards.asking import STEP
from tests.loop.recording import Bench, FunctionTool, asks_for, hook, says

ONE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


async def fail(_call: ToolCall) -> ToolResult:
    raise OSError("the disk is gone")


def call(name: str, arguments: str = "{}") -> ScriptedCall:
    return ScriptedCall(name, arguments)


def again(times: int, made: ScriptedCall) -> list[ScriptStep]:
    return [asks_for(made) for _ in range(times)]


class Guarded(Bench):
    """With the guards of a `[guards]` section, and every decision of a hook written down."""

    def __init__(self, workspace: Path, *steps: ScriptStep, **parts: Any) -> None:
        self.decisions: list[GateDecision] = []
        specs = {tool.name: tool.spec for tool in parts.get("tools", ())}
        section = GuardsSection.model_validate(parts.pop("guards", {}))
        listener = Mount(InsideHook("decisions", hear=self._note), Rules(observe=Observed(("gate_decision",))))
        hooks = (*guard_mounts(section, workspace, specs.get), listener, *parts.pop("hooks", ()))
        super().__init__(*steps, hooks=hooks, **parts)

    def _note(self, event: Event) -> None:
        assert isinstance(event.payload, GateDecision)
        self.decisions.append(event.payload)

    def decided(self, action: str) -> list[tuple[str, str]]:
        return [(it.hook, it.stage) for it in self.decisions if it.action == action]


MakeBench = Callable[..., Guarded]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[MakeBench]:
    """Makes a bench; in the end every call must be accounted for."""
    made: list[Guarded] = []

    def make(*steps: ScriptStep, **parts: Any) -> Guarded:
        made.append(Guarded(tmp_path, *steps, **parts))
        return made[-1]

    yield make
    for one in made:
        assert one.agent.tally.balanced, one.agent.tally


# --- the chain ----------------------------------------------------------------------------------------------


def mounted(**section: Any) -> list[Mount]:
    given = GuardsSection.model_validate(section)
    return sorted(guard_mounts(given, Path("/w"), lambda _name: None), key=lambda mount: mount.order)


def test_the_guards_that_are_on_stand_first_in_one_order() -> None:
    names = [mount.name for mount in mounted()]
    assert names == ["guard:loop", "guard:fan_out", "guard:read_before_write", "guard:shell"]
    assert all(mount.rules.inside and mount.rules.priority < 0 for mount in mounted())
    everything = mounted(plan_first="enforce", test_edit=True)
    assert [mount.name for mount in everything][2:4] == ["guard:plan_first", "guard:test_edit"]


def test_a_guard_is_turned_off_or_into_audit_by_one_word() -> None:
    mounts = mounted(loop="off", fan_out=False, shell="audit")
    assert [(mount.name, mount.rules.mode) for mount in mounts] == [
        ("guard:read_before_write", "enforce"),
        ("guard:shell", "audit"),
    ]


def test_no_limits_no_fan_out_guard() -> None:
    assert "guard:fan_out" not in [mount.name for mount in mounted(fan_out={"limits": {}})]


def test_a_guard_that_fails_refuses() -> None:
    assert all(mount.rules.policy(Stage.BEFORE_TOOL) == "deny" for mount in mounted())


async def test_what_a_guard_raises_is_a_failure() -> None:
    async def broken(_question: Question) -> Answer:
        raise RuntimeError("a bug")

    one = InsideHook("guard:x", {Stage.BEFORE_TOOL: broken}, waits=False)
    question = Question(Stage.BEFORE_TOOL, STEP, ToolCall("1", "t", {}))
    assert await one.ask(question, 1) == Failed("RuntimeError: a bug")


# --- in a turn ----------------------------------------------------------------------------------------------


async def test_a_call_that_keeps_failing_is_advised_and_then_refused(bench: MakeBench) -> None:
    tool = FunctionTool("t", run=fail)
    made = bench(*again(5, call("t")), says("x"), tools=[tool])
    await made.play()
    results = made.results()
    assert len(tool.seen) == 3
    assert "Advice" not in results[1]
    assert results[2].startswith("ERROR (transient) t: ")
    assert "Advice: this same call has failed 3 times. The fault lies outside" in results[2]
    assert results[3].startswith("Tool execution denied by hook: this same call has failed 3 times")
    assert [it.ErrorKind for it in made.payloads(ToolExecSkipped)] == ["fatal", "fatal"]
    assert made.decided("deny_tool") == [("guard:loop", "before_tool")] * 2


async def test_calls_that_never_reach_the_gate_escalate(bench: MakeBench) -> None:
    tool = FunctionTool("count", parameters=ONE)
    steps = [asks_for(call("count", f'{{"n": "{number}"}}')) for number in range(7)]
    made = bench(*steps, asks_for(call("count", '{"n": 1}')), says("x"), tools=[tool])
    await made.play()
    assert tool.seen == []
    assert "count has failed 7 times in this turn. Fix the format" in made.results()[7]
    # What the model read, which the transcript does not repeat.
    read = [message.content for message in made.provider.requests[4].messages if message.role == "tool"]
    assert "\n\nAdvice: count has failed 4 times in this turn. Fix the format: " in read[3]


async def test_denials_by_a_later_hook_escalate(bench: MakeBench) -> None:
    strict = hook("strict", {Stage.BEFORE_TOOL: Deny("no")})
    made = bench(*again(4, call("t")), says("x"), tools=[FunctionTool("t")], hooks=[strict])
    await made.play()
    assert made.results()[2] == "Tool execution denied by hook: no"
    assert "this same call has failed 3 times" in made.results()[3]


async def test_a_call_beyond_the_fan_out_never_runs(bench: MakeBench) -> None:
    tool = FunctionTool("ls", reads_only=True)
    made = bench(
        asks_for(*(call("ls", f'{{"path": "{n}"}}') for n in range(4))),
        says("x"),
        tools=[tool],
        guards={"fan_out": {"limits": {"ls": 2}}},
    )
    await made.play()
    assert len(tool.seen) == 2
    assert [it.ErrorKind for it in made.payloads(ToolExecSkipped)] == ["budget", "budget"]
    assert made.decided("deny_tool") == [("guard:fan_out", "before_tool")] * 2


async def test_a_write_to_an_unread_file_runs_and_the_model_is_told(bench: MakeBench, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    tool = FunctionTool("write")
    made = bench(asks_for(call("write", '{"path": "a.py"}')), says("x"), tools=[tool])
    await made.play()
    assert len(tool.seen) == 1
    assert made.results() == [
        "write ran\n\nAdvice: a.py exists, and this conversation has not read it. Read it before you change it again."
    ]


async def test_a_strict_refusal_is_stale(bench: MakeBench, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    tool = FunctionTool("write")
    made = bench(
        asks_for(call("write", '{"path": "a.py"}')),
        says("x"),
        tools=[tool],
        guards={"read_before_write": {"strict": True}},
    )
    await made.play()
    assert tool.seen == []
    assert [it.ErrorKind for it in made.payloads(ToolExecSkipped)] == ["stale"]


async def test_the_shell_policy_refuses_by_name_and_in_audit_only_says_what_it_would_do(bench: MakeBench) -> None:
    cd = call("bash", '{"command": "cd src && ls"}')
    tool = FunctionTool("bash")
    made = bench(asks_for(cd), says("x"), tools=[tool], guards={"shell": {"profile": "standard"}})
    await made.play()
    assert tool.seen == []
    assert made.results()[0].startswith("Tool execution denied by hook: shell policy, rule cd: `cd` is not needed")
    assert made.decided("deny_tool") == [("guard:shell", "before_tool")]

    watched = bench(asks_for(cd), says("x"), tools=[tool], guards={"shell": {"mode": "audit", "profile": "standard"}})
    await watched.play()
    assert len(tool.seen) == 1


async def test_what_a_hook_writes_under_another_name_of_an_argument_is_judged_as_it_runs(bench: MakeBench) -> None:
    tool, selection = FunctionTool("bash"), Selection(aliases={"bash": {"cmd": "command"}})
    changes = hook("h", {Stage.BEFORE_TOOL: Modify({"arguments": {"cmd": "cd src && ls"}})})
    parts: dict[str, Any] = {"tools": [tool], "hooks": [changes], "selection": selection}
    made = bench(asks_for(call("bash", '{"command": "ls"}')), says("x"), guards={"shell": "standard"}, **parts)
    await made.play()
    assert tool.seen == []
    assert made.results()[0].startswith("Tool execution denied by hook: shell policy, rule cd")


async def test_a_small_read_meets_no_guard_that_has_nothing_to_say_about_it(bench: MakeBench) -> None:
    tool = FunctionTool("read", reads_only=True)
    made = bench(asks_for(call("read", '{"path": "a"}')), says("x"), tools=[tool])
    await made.play()
    asked = {name: stats.calls for name, stats in made.agent.gate.stats.items() if stats.calls}
    # The loop guard before each of two model calls as well.
    assert asked == {"guard:loop": 4, "guard:read_before_write": 2}
    assert made.payloads(HookFailed) == []


@pytest.mark.parametrize(
    "line", ["cd sub && make", "make > log.txt", "cat > notes <<'END'\nx\nEND", "python3 - <<END\n1\nEND"]
)
async def test_everyday_lines_run_under_the_policy_as_it_comes(bench: MakeBench, line: str) -> None:
    tool = FunctionTool("bash")
    made = bench(asks_for(call("bash", json.dumps({"command": line}))), says("x"), tools=[tool])
    await made.play()
    assert [it.arguments["command"] for it in tool.seen] == [line]
