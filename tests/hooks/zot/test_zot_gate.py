"""Extensions mounted beside hook processes: the order they are asked in, their failures, restarts and reloads."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
import trio
import trio.testing

from hookgate.hooks.children.mounts import Changes, Mounts, Plan, open_mounts
from hookgate.hooks.children.supervise import Restarts
from hookgate.hooks.gate import Denied, Gate
from hookgate.hooks.rules import Rules
from hookgate.hooks.zot.roster import Roster
from hookgate.hooks.zot.spec import extension_plan
from hookgate.hooks.zot.tool import ZotTool
from hookgate.processes import group
from hookgate.protocol.errors import TurnAborted
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import ReplyEnded, StepBegan
from hookgate.protocol.events.payloads import HookFailed
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import LLMReply, ToolCall
from hookgate.protocol.zot.frames import RegisterTool
from hookgate.tools.registry import Registry
from tests.hooks.doubles import CALL, STEP, sink
from tests.hooks.processes import DEADLINE_S, gone, spec, until
from tests.hooks.zot.extensions import REQUEST, Theatre

QUICK = Restarts(first_delay_s=0.01, longest_delay_s=0.02, crash_limit=30)
SLOW = Restarts(first_delay_s=60, longest_delay_s=60)
SAYS_REPLY = LLMReply("openai/gpt", "the secret is 42")


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "CLOSE_WAIT_S", 0.3)
    monkeypatch.setattr(group, "TERM_WAIT_S", 0.2)


class House:
    """A gate with extensions and processes, and the failures it told of."""

    def __init__(self, restarts: Restarts = SLOW) -> None:
        self.theatre = Theatre()
        self.gate = Gate()
        self.events: list[Event] = []
        self.mounts = Mounts(self.gate, restarts, [sink(self.events)])

    def plan(self, name: str, mode: str = "story", more: Any = None, rank: int = 0, **changes: Any) -> Plan:
        match = changes.pop("match", None)
        return extension_plan(self.theatre.spec(mode, more, name=name, rank=rank, **changes), match=match)

    @property
    def failures(self) -> list[tuple[str, str, str, str]]:
        found = (event.payload for event in self.events)
        return [(it.hook, it.stage, it.reason, it.policy) for it in found if isinstance(it, HookFailed)]

    def pid(self, name: str) -> int:
        return next(hook.pid or 0 for hook in self.mounts.hooks if hook.name == name)

    @asynccontextmanager
    async def open(self, *plans: Plan, wait: bool = True) -> AsyncGenerator[None]:
        groups: set[int] = set()
        with trio.fail_after(DEADLINE_S):
            async with open_mounts(self.mounts, plans, wait=wait):
                groups |= {hook.pid for hook in self.mounts.hooks if hook.pid}
                yield
                groups |= {hook.pid for hook in self.mounts.hooks if hook.pid}
        await gone(*groups)


def guard(arguments: Any) -> dict[str, Any]:
    return {"tool_call": arguments}


# --- order ---


async def test_extensions_are_asked_in_load_order_before_hooks_of_their_priority() -> None:
    house = House()
    process = Plan(spec(name="a-hook"), Rules(stages=frozenset({Stage.BEFORE_TOOL})))
    first = Plan(spec(name="first"), Rules(stages=frozenset({Stage.BEFORE_TOOL}), priority=-1))
    plans = [process, house.plan("late", more={}, rank=11), house.plan("early", more={}, rank=2), first]
    async with house.open(*plans):
        names = [mount.name for mount in house.gate.mounts if mount.name != "~sink"]
        assert names == ["first", "zot:early", "zot:late", "a-hook"]
        assert [hook.name for hook in house.mounts.hooks] == names


async def test_rewrites_chain_and_the_first_block_ends_the_chain() -> None:
    house = House()
    rewrite = {"modified_args": {"command": "ls", "answer": {"block": True, "reason": "seen"}}}
    async with house.open(house.plan("a", "plain", [SUBSCRIBE]), house.plan("b", "plain", [SUBSCRIBE], rank=1)):
        call = ToolCall("c1", "bash", {"command": "rm", "answer": rewrite})
        verdict = await house.gate.before_tool(STEP, call)
        assert isinstance(verdict, Denied)
        assert (verdict.result.for_llm, verdict.result.is_error) == ("seen", True)
        assert verdict.call.arguments["command"] == "ls"
    assert house.failures == []


SUBSCRIBE = {"type": "subscribe", "intercept": ["tool_call"]}


async def test_what_people_see_is_rewritten_in_turn_and_the_transcript_keeps_the_original() -> None:
    house = House()
    plans = [
        house.plan("a", more={"assistant_message": {"replace_text": "the secret is ***"}}),
        house.plan("b", more={"assistant_message": {"block": True, "reason": "pii"}}, rank=1),
        house.plan("c", more={"assistant_message": {"replace_text": "never asked"}}, rank=2),
    ]
    async with house.open(*plans[:1]):
        reply = await house.gate.after_llm(STEP, SAYS_REPLY)
        assert (reply.content, reply.shown) == ("the secret is 42", "the secret is ***")
        assert house.gate.holds_text(STEP, "openai/gpt")
    house = House()
    async with house.open(*(replace(it, spec=replace(it.spec, roster=house.theatre.roster)) for it in plans)):
        reply = await house.gate.after_llm(STEP, SAYS_REPLY)
        assert (reply.content, reply.shown) == ("the secret is 42", "")
        assert reply.withheld_by == "b withheld the reply: pii"


async def test_a_blocked_turn_is_an_abort_with_its_bare_reason() -> None:
    house = House()
    async with house.open(house.plan("a", more={"turn_start": {"block": True, "reason": "quota"}})):
        with pytest.raises(TurnAborted) as aborted:
            await house.gate.before_llm(STEP, REQUEST)
    assert (aborted.value.hook, aborted.value.reason) == ("zot:a", "quota")


async def test_an_extension_is_asked_and_told_only_of_what_its_match_covers() -> None:
    house = House()
    match = Matcher({"channels": Globs(("web",))})
    block = {"block": True}
    story = {"tool_call": block, "turn_start": block}
    async with house.open(house.plan("a", more=story, match=match)):
        assert isinstance(await house.gate.before_tool(STEP, CALL), ToolCall)
        assert await house.gate.before_llm(STEP, REQUEST) == REQUEST


async def test_an_extension_that_intercepts_nothing_is_never_asked() -> None:
    house = House()
    async with house.open(house.plan("a", "plain")):
        assert not house.gate.holds_text(STEP, "openai/gpt")
        assert await house.gate.before_tool(STEP, CALL) == CALL
        assert house.gate.stats["zot:a"].calls == 0


async def test_events_reach_extensions_through_the_gate() -> None:
    house = House()
    more = [{"type": "subscribe", "events": ["turn_start", "turn_end"]}]
    async with house.open(house.plan("a", "plain", more)):
        house.gate.events.emit(StepBegan(1), STEP)
        house.gate.events.emit(ReplyEnded("hi", "hi", (), "end"), STEP)
        tool = house.theatre.tools["a"]["do"]
        result = await tool.execute(ToolCall("c", "do", {"do": "received"}))
    assert '"event": "turn_start", "step": 1' in result.for_llm
    assert '"event": "turn_end", "stop": "end"' in result.for_llm


# --- failures ---


@pytest.mark.parametrize("says", ["silent", "exit", {"reason": 5}])
async def test_an_interceptor_that_fails_lets_the_call_pass_and_is_reported(says: Any) -> None:
    house = House()
    plan = house.plan("a", "plain", [SUBSCRIBE])
    plan = replace(plan, rules=replace(plan.rules, timeout_s={Stage.BEFORE_TOOL: 0.2}))
    async with house.open(plan):
        call = ToolCall("c1", "bash", {"answer": says})
        assert await house.gate.before_tool(STEP, call) == call
        (failure,) = house.failures
        assert (failure[0], failure[1], failure[3]) == ("zot:a", "before_tool", "continue")


@pytest.mark.parametrize("says", ["silent", "exit", {"modified_args": "rm"}])
async def test_an_interceptor_that_fails_closed_denies(says: Any) -> None:
    house = House()
    plan = house.plan("a", "plain", [SUBSCRIBE], fail_closed=True)
    plan = replace(plan, rules=replace(plan.rules, timeout_s={Stage.BEFORE_TOOL: 0.2}))
    async with house.open(plan):
        verdict = await house.gate.before_tool(STEP, ToolCall("c1", "bash", {"answer": says}))
        assert isinstance(verdict, Denied)
        assert "hook zot:a failed at before_tool" in verdict.result.for_llm
        assert house.failures[0][3] == "deny"


async def test_arguments_that_the_schema_refuses_are_the_loops_business() -> None:
    house = House()
    async with house.open(house.plan("a", "plain", [SUBSCRIBE])):
        call = ToolCall("c1", "bash", {"answer": {"modified_args": {"command": 7}}})
        verdict = await house.gate.before_tool(STEP, call)
        assert verdict == replace(call, arguments={"command": 7})


@pytest.mark.parametrize("fail_closed", [False, True])
async def test_an_interceptor_that_is_down_passes_or_denies_and_says_so(fail_closed: bool) -> None:
    house = House()
    async with house.open(house.plan("a", more=guard({}), fail_closed=fail_closed)):
        os.kill(house.pid("zot:a"), signal.SIGKILL)
        await until(lambda: house.mounts.hooks[0].state == "restarting")
        verdict = await house.gate.before_tool(STEP, CALL)
        assert isinstance(verdict, Denied if fail_closed else ToolCall)
        ((hook, stage, reason, _),) = house.failures
        assert (hook, stage, reason) == ("zot:a", "before_tool", "it is restarting: it was killed by SIGKILL")
        assert await house.gate.before_llm(STEP, REQUEST) == REQUEST


@pytest.mark.parametrize("fail_closed", [False, True])
async def test_an_extension_that_never_came_up_stands_nowhere_unless_it_fails_closed(fail_closed: bool) -> None:
    house = House()
    async with house.open(house.plan("a", "exit_at_start", fail_closed=fail_closed)):
        assert house.mounts.hooks[0].reason == "extension exited before hello: exit status 3"
        verdict = await house.gate.before_tool(STEP, CALL)
        assert isinstance(verdict, Denied if fail_closed else ToolCall)
        assert await house.gate.after_llm(STEP, SAYS_REPLY) == SAYS_REPLY
        assert len(house.failures) == fail_closed


async def test_after_a_crash_the_tools_leave_and_come_back_with_a_new_handshake() -> None:
    house = House(QUICK)
    async with house.open(house.plan("a", "plain")):
        await house.theatre.tools["a"]["do"].execute(ToolCall("c", "do", {"do": "exit"}))
        await until(lambda: house.theatre.offers[-2:] == [("a", 0, ()), ("a", 0, ("do",))])
        again = await house.theatre.tools["a"]["do"].execute(ToolCall("c", "do", {"do": "where"}))
        assert not again.is_error
        assert house.mounts.hooks[0].restarts == 1


async def test_of_one_tool_in_two_extensions_the_first_in_load_order_wins_and_a_built_in_always() -> None:
    """The registry decides, by the place that comes with every offer."""
    house, registry = House(), Registry()
    reserved = ZotTool("builtin", RegisterTool("bash", "", {"type": "object"}), cast("Any", None))
    registry.register(reserved, reserved=True)

    def offer(extension: str, rank: int, tools: Sequence[Tool]) -> None:
        registry.unregister_provider(f"zot:{extension}")
        for tool in tools:
            if tool.spec.name != "bash":
                registry.register(tool, priority=-rank)

    house.theatre.roster = Roster(house.theatre.screen, offer)
    bash = {"type": "register_tool", "name": "bash"}
    plans = [house.plan("slow", "late", [bash], rank=0), house.plan("fast", "plain", [bash], rank=1)]
    async with house.open(*plans):
        owners = {name: tool.spec.provider for name, tool in registry.snapshot().tools.items()}
        assert owners == {"bash": "zot:builtin", "do": "zot:slow"}
        os.kill(house.pid("zot:slow"), signal.SIGKILL)
        await until(lambda: registry.snapshot().tools["do"].spec.provider == "zot:fast")


# --- start and reload ---


async def test_a_mute_extension_holds_up_only_who_waits_for_it() -> None:
    house = House()
    plans = [house.plan("mute", "mute", hello_timeout_s=0.6), house.plan("good", "plain", rank=1)]
    async with house.open(*plans, wait=False):
        assert "restarting" not in {hook.state for hook in house.mounts.hooks}
        await house.mounts.tried()
        states = {hook.name: (hook.state, hook.reason) for hook in house.mounts.hooks}
        late = "no hello within 0.6 s; it goes on starting, for up to 300 s"
        assert states == {"zot:mute": ("starting", late), "zot:good": ("up", "")}


async def test_at_each_stage_nothing_passes_a_known_guard_before_it_is_up() -> None:
    house, known = House(), frozenset({Stage.BEFORE_LLM, Stage.AFTER_LLM, Stage.BEFORE_TOOL})
    async with house.open(house.plan("guard", "mute", hello_timeout_s=0.05, guarded=lambda: known)):
        denied = await house.gate.before_tool(STEP, CALL)
        assert isinstance(denied, Denied)
        assert "it is starting: no hello within 0.05 s" in denied.result.for_llm
        with pytest.raises(TurnAborted, match="it is starting"):
            await house.gate.before_llm(STEP, REQUEST)
        reply = await house.gate.after_llm(STEP, SAYS_REPLY)
        assert (reply.shown, reply.content) == ("", SAYS_REPLY.content)
    assert [policy for *_, policy in house.failures] == ["deny", "deny", "withhold"]


async def test_a_guard_that_has_been_up_fails_as_its_rules_say() -> None:
    house = House()
    async with house.open(house.plan("guard", "plain", guarded=lambda: frozenset({Stage.BEFORE_TOOL}))):
        assert isinstance(await house.gate.before_tool(STEP, CALL), ToolCall)
        os.kill(house.pid("zot:guard"), signal.SIGKILL)
        await until(lambda: house.mounts.hooks[0].state == "restarting")
        assert isinstance(await house.gate.before_tool(STEP, CALL), ToolCall)


@pytest.mark.parametrize("asked", ["before it goes", "once it is gone"])
async def test_nothing_passes_a_guard_while_a_reload_exchanges_it(asked: str) -> None:
    """It has been stopped on purpose, and the new one takes its time; the others only fail as their rules say."""
    house = House()
    known = frozenset({Stage.BEFORE_TOOL})
    old = house.plan("a", more=guard("silent"), guarded=lambda: known)
    new = house.plan("a", "mute", generation=1, hello_timeout_s=0.5, guarded=lambda: known)
    verdicts: list[object] = []

    async def ask() -> None:
        call = CALL if asked == "once it is gone" else replace(CALL, arguments={"answer": "silent"})
        verdicts.append(await house.gate.before_tool(STEP, call))

    async with house.open(old), trio.open_nursery() as nursery:
        hook = house.mounts.hooks[0]
        if asked == "before it goes":
            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(house.mounts.reload, [new])
        await until(lambda: hook.state == "stopped")
        assert house.mounts.hooks == (hook,)
        if asked == "once it is gone":
            await ask()
    (verdict,) = verdicts
    assert isinstance(verdict, Denied)


async def test_a_reload_restarts_what_differs_after_the_old_one_is_gone(tmp_path: Any) -> None:
    house = House()
    a, b = house.plan("a", "plain"), house.plan("b", "plain", rank=1)
    async with house.open(a, b):
        before = {name: house.pid(name) for name in ("zot:a", "zot:b")}
        assert await house.mounts.reload([a, b]) == Changes()
        again = replace(a, spec=replace(house.theatre.spec(name="a"), generation=1))
        assert await house.mounts.reload([again, b]) == Changes(restarted=("zot:a",))
        assert house.pid("zot:b") == before["zot:b"]
        assert house.pid("zot:a") != before["zot:a"]
        offers = [offer for offer in house.theatre.offers if offer[0] == "a"]
        assert offers == [("a", 0, ("do",)), ("a", 0, ()), ("a", 0, ("do",))]
        await gone(before["zot:a"])


async def test_an_extension_that_does_not_come_up_fails_no_reload_and_leaves_the_others() -> None:
    house = House()
    good = house.plan("good", "plain")
    async with house.open(good):
        bad = house.plan("bad", "exit_at_start", rank=1)
        assert await house.mounts.reload([good, bad]) == Changes(added=("zot:bad",))
        assert [hook.state for hook in house.mounts.hooks] == ["up", "restarting"]
        assert await house.mounts.reload([bad]) == Changes(dropped=("zot:good",))
        await until(lambda: house.theatre.offers[-1] == ("good", 0, ()))


async def test_an_extension_and_a_hook_may_have_the_same_name() -> None:
    house = House()
    rules = Rules(stages=frozenset({Stage.BEFORE_TOOL}))
    async with house.open(Plan(spec(name="audit"), rules), house.plan("audit", "plain")):
        assert [hook.name for hook in house.mounts.hooks] == ["zot:audit", "audit"]
