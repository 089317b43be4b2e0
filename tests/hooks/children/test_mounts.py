"""The set of running hooks: started together, exchanged without a gap, stopped together."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from hookgate.hooks.children.mounts import Changes, Mounts, Plan, ReloadFailed, open_mounts
from hookgate.hooks.children.supervise import RequiredHookFailed, Restarts
from hookgate.hooks.gate import Denied, Gate
from hookgate.hooks.rules import Rules
from hookgate.processes import group
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import GateDecision
from hookgate.protocol.hook.answers import CONTINUE, Deny
from hookgate.protocol.hook.match import Observed
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import ToolCall, ToolResult
from tests.hooks.doubles import CALL, STEP, Asked, hook, matching, sink
from tests.hooks.processes import ALL, DEADLINE_S, ask, gone, spec, told, until

QUICK = Restarts(first_delay_s=0.01, longest_delay_s=0.02, crash_limit=3, crash_window_s=60, probe_s=60)
RULES = Rules(stages=ALL)


@pytest.fixture(autouse=True)
def quick_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "CLOSE_WAIT_S", 0.3)
    monkeypatch.setattr(group, "TERM_WAIT_S", 0.1)


def plan(name: str, mode: str = "plain", rules: Rules = RULES, required: bool = False, **changes: Any) -> Plan:
    return Plan(spec(mode, name=name, **changes), rules, required)


@asynccontextmanager
async def open_gate(*plans: Plan, inside: Any = ()) -> AsyncGenerator[tuple[Gate, Mounts]]:
    """Running hooks; afterwards none of them is left."""
    gate = Gate()
    mounts = Mounts(gate, QUICK, inside)
    groups: set[int] = set()
    with trio.fail_after(DEADLINE_S):
        async with open_mounts(mounts, plans):
            groups |= set(_pids(mounts).values())
            yield gate, mounts
            groups |= set(_pids(mounts).values())
    await gone(*groups)


def _pids(mounts: Mounts) -> dict[str, int]:
    return {hook.name: hook.pid for hook in mounts.hooks if hook.pid}


async def test_every_hook_is_up_when_the_set_is_open() -> None:
    async with open_gate(plan("b"), plan("a")) as (gate, mounts):
        assert [hook.state for hook in mounts.hooks] == ["up", "up"]
        assert [mount.name for mount in gate.mounts] == ["a", "b"]


async def test_one_bad_hook_stops_neither_the_others_nor_the_start() -> None:
    async with open_gate(plan("bad", "exit_at_hello"), plan("good")) as (gate, mounts):
        states = {hook.name: hook.state for hook in mounts.hooks}
        assert states["good"] == "up"
        assert states["bad"] in ("restarting", "quarantined")
        assert isinstance(await gate.approve_tool(STEP, CALL), ToolResult)


async def test_a_required_hook_that_does_not_start_refuses_to_start() -> None:
    with pytest.RaisesGroup(
        pytest.RaisesExc(RequiredHookFailed, match="hook bad is required but it exited with status 4"),
        flatten_subgroups=True,
    ):
        async with open_gate(plan("good"), plan("bad", "exit_at_hello", required=True)):
            pytest.fail("it must not open")


async def test_a_required_hook_that_is_lost_later_ends_the_block() -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(RequiredHookFailed), flatten_subgroups=True):
        async with open_gate(plan("bad", "exit_after_hello", required=True)):
            await trio.sleep_forever()


async def test_inside_hooks_come_first_and_a_reload_leaves_them() -> None:
    asked = Asked()
    guard = hook("z-guard", asked.saying("z-guard", Deny("no")), rules=Rules(inside=True))
    async with open_gate(plan("a"), inside=[guard]) as (gate, mounts):
        await mounts.reload([plan("b")])
        assert [mount.name for mount in gate.mounts] == ["z-guard", "b"]
        assert isinstance(await gate.before_tool(STEP, CALL), Denied)


async def test_an_audit_hook_is_asked_and_heard_of_what_came_just_before_the_end() -> None:
    events = list[Event]()
    async with open_gate(
        plan("audit", rules=Rules(stages=ALL, mode="audit")), inside=[sink(events, "gate_decision")]
    ) as (gate, _):
        await gate.before_tool(STEP, CALL)
    assert [
        (event.payload.hook, event.payload.audit) for event in events if isinstance(event.payload, GateDecision)
    ] == [("audit", True)]


# --- reload ---


async def test_an_unchanged_hook_keeps_its_process() -> None:
    async with open_gate(plan("a"), plan("b")) as (_, mounts):
        before = _pids(mounts)
        assert await mounts.reload([plan("b"), plan("a")]) == Changes()
        assert _pids(mounts) == before


async def test_new_rules_alone_keep_the_process_and_count_at_once() -> None:
    async with open_gate(plan("a", rules=RULES)) as (gate, mounts):
        before = _pids(mounts)
        narrow = replace(RULES, priority=7, match=matching(tools="other"), observe=Observed(("*",)))
        assert await mounts.reload([plan("a", rules=narrow)]) == Changes(changed=("a",))
        assert _pids(mounts) == before
        assert gate.mounts[0].rules == narrow
        assert await gate.before_tool(STEP, ToolCall("c", "bash", {"do": "exit"})) is not None
        assert mounts.hooks[0].restarts == 0


async def test_a_changed_command_restarts_the_hook_and_no_other() -> None:
    async with open_gate(plan("a"), plan("b")) as (_, mounts):
        before = _pids(mounts)
        found = await mounts.reload([plan("a", environment={"NEW": "1"}), plan("b")])
        assert found == Changes(restarted=("a",))
        after = _pids(mounts)
        assert (after["a"] != before["a"], after["b"]) == (True, before["b"])
        assert (await told(mounts.hooks[0], "where"))["env"]["NEW"] == "1"


async def test_a_restart_gives_one_hook_a_new_process_and_an_unknown_name_is_refused() -> None:
    async with open_gate(plan("a"), plan("b")) as (gate, mounts):
        before = _pids(mounts)
        assert await mounts.restart("a") == Changes(restarted=("a",))
        after = _pids(mounts)
        assert (after["a"] != before["a"], after["b"]) == (True, before["b"])
        assert [mount.name for mount in gate.mounts] == ["a", "b"]
        await gone(before["a"])
        with pytest.raises(ReloadFailed, match=r"there is no hook 'c' \(there are: a, b\)"):
            await mounts.restart("c")


async def test_hooks_are_added_and_dropped() -> None:
    async with open_gate(plan("a"), plan("b")) as (gate, mounts):
        dropped = _pids(mounts)["a"]
        assert await mounts.reload([plan("b"), plan("c")]) == Changes(added=("c",), dropped=("a",))
        assert [mount.name for mount in gate.mounts] == ["b", "c"]
        await gone(dropped)
        assert await mounts.reload([]) == Changes(dropped=("b", "c"))
        assert (gate.mounts, mounts.hooks) == ((), ())


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"mode": "exit_at_hello"}, "hook new: it exited with status 4"),
        ({"hello": {"ok": False}}, "hook new: the hook answered ok: false"),
        ({"command": ("/nonexistent",)}, "hook new: cannot start '/nonexistent'"),
        ({"mode": "mute", "hello_timeout_s": 0.1}, r"hook new: no hello within 0\.1 s: it is silent, does not flush"),
    ],
)
async def test_a_new_hook_that_fails_leaves_the_old_set(bad: dict[str, Any], reason: str) -> None:
    async with open_gate(plan("a"), plan("b")) as (gate, mounts):
        before = _pids(mounts)
        with pytest.raises(ReloadFailed, match=reason):
            await mounts.reload([plan("a", environment={"NEW": "1"}), plan("new", **bad)])
        assert [mount.name for mount in gate.mounts] == ["a", "b"]
        assert _pids(mounts) == before
        assert await ask(mounts.hooks[0], "answer", result={}) == CONTINUE


async def test_what_is_published_with_a_reload_counts_with_its_hooks_and_not_when_it_fails() -> None:
    async with open_gate(plan("a")) as (gate, mounts):
        found: list[list[str]] = []
        publish = lambda: found.append([mount.name for mount in gate.mounts])  # noqa: E731
        await mounts.reload([plan("b")], publish)
        with pytest.raises(ReloadFailed):
            await mounts.reload([plan("c", "exit_at_hello")], publish)
        assert found == [["b"]]


async def test_a_reload_keeps_what_runs_when_its_turn_comes() -> None:
    async with open_gate(plan("a")) as (gate, mounts), trio.open_nursery() as nursery:
        nursery.start_soon(mounts.reload, [plan("b")])
        await trio.testing.wait_all_tasks_blocked()
        await mounts.reload(lambda running: [*running, plan("c")])
        assert [mount.name for mount in gate.mounts] == ["b", "c"]


async def test_a_required_new_hook_that_fails_in_a_loop_only_fails_the_reload() -> None:
    """While another one is slow to fail, it crashes often enough to be quarantined."""
    async with open_gate(plan("a")) as (_, mounts):
        slow = plan("slow", "mute", hello_timeout_s=1.0)
        with pytest.raises(ReloadFailed):
            await mounts.reload([plan("a"), slow, plan("new", "exit_at_hello", required=True)])
        assert await ask(mounts.hooks[0], "answer", result={}) == CONTINUE


async def test_a_hook_that_becomes_required_is_held_to_it_from_then_on() -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(RequiredHookFailed), flatten_subgroups=True):
        async with open_gate(plan("a")) as (_, mounts):
            await mounts.reload([plan("a", required=True)])
            while True:
                await until(lambda: mounts.hooks[0].state == "up")
                await ask(mounts.hooks[0], "exit")
                await until(lambda: mounts.hooks[0].state != "up")


@pytest.mark.parametrize("wanted", [[], [plan("a", environment={"NEW": "1"})]])
async def test_a_dropped_hook_may_finish_the_call_it_has(wanted: list[Plan]) -> None:
    async with open_gate(plan("a")) as (_, mounts):
        (old,) = mounts.hooks
        answers: list[Any] = []

        async def hold(n: int) -> None:
            answers.append(await told(old, "hold", n=n, until=2))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(hold, 1)
            await trio.testing.wait_all_tasks_blocked()
            await mounts.reload(wanted)
            assert old.pid is not None
            nursery.start_soon(hold, 2)
        assert sorted(answers) == [1, 2]
        await until(lambda: old.pid is None)


async def test_a_walk_under_way_is_not_let_through_by_a_reload() -> None:
    """The guard's old process is gone when the walk, held up at the first hook, comes to it."""
    found: list[object] = []
    async with open_gate(plan("a"), plan("guard", "guard")) as (gate, mounts):
        first, guard = mounts.hooks

        async def walk() -> None:
            found.append(await gate.before_tool(STEP, ToolCall("c", "bash", {"do": "pause"})))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(walk)
            await trio.testing.wait_all_tasks_blocked()
            await mounts.reload([plan("a"), plan("guard", "guard", environment={"NEW": "1"})])
            await until(lambda: guard.state == "stopped")
            await ask(first, "go")
    (denied,) = found
    assert isinstance(denied, Denied)
    assert denied.result.for_llm == "Tool execution denied by hook: guarded"


async def test_an_approver_stands_at_every_moment_of_a_reload() -> None:
    """It refuses everything; while it is exchanged again and again no call ever passes."""
    refusing = {"do": "answer", "result": {"approved": False, "reason": "never"}}
    call = ToolCall("c", "bash", refusing)
    passed: list[object] = []
    asked = 0

    async def hammer(gate: Gate) -> None:
        nonlocal asked
        while True:
            answer = await gate.approve_tool(STEP, call)
            asked += 1
            if not isinstance(answer, ToolResult) or "never" not in answer.for_llm:
                passed.append(answer)

    approver = Rules(stages=frozenset({Stage.APPROVE_TOOL}))
    async with open_gate(plan("policy", rules=approver)) as (gate, mounts), trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(hammer, gate)
        for round_ in range(6):
            rules = replace(approver, priority=round_)
            await mounts.reload([plan("policy", rules=rules, environment={"ROUND": str(round_ // 2)})])
            with pytest.raises(ReloadFailed):
                await mounts.reload([plan("other", "exit_at_hello")])
        nursery.cancel_scope.cancel()
    assert passed == []
    assert asked > 20


async def test_reloads_are_taken_one_after_the_other() -> None:
    async with open_gate(plan("a")) as (gate, mounts):
        async with trio.open_nursery() as nursery:
            for n in range(4):
                nursery.start_soon(mounts.reload, [plan("a"), plan(f"new{n}")])
        assert gate.mounts[0].name == "a"
        assert len(gate.mounts) == len(mounts.hooks) == 2


async def test_many_hooks_are_stopped_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "CLOSE_WAIT_S", DEADLINE_S)
    place: dict[str, Any] = {"directory": str(tmp_path), "environment": {"MEETS": "4"}}
    async with open_gate(*(plan(f"h{n}", "meets", **place) for n in range(4))):
        pass
    assert sum(name.startswith("left-") for name in os.listdir(tmp_path)) == 4
