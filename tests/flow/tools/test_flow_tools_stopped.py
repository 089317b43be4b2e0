"""A turn is stopped at every moment it has: nothing stays behind, and the next message is answered."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import trio

from hookgate.assembly.logs.sinks import trace
from hookgate.protocol.approval import Decision
from hookgate.protocol.chat import Inbound
from hookgate.protocol.events.payloads import ToolExecEnd
from hookgate.protocol.interfaces import Provider
from hookgate.providers.scripted import Script, ScriptedCall, ScriptedProvider, ScriptStep
from tests.flow.tools.tooling import Made, Rig, open_rig, settled
from tests.loop.recording import CHAT
from tests.model_server import calls, says
from tests.processes import none_left

# No other process sleeps for so long: found by its command line, whatever became of its parents.
SLEEP = f"600.{os.getpid():07}"
RULE = '[[approvals]]\ntools = ["bash"]\n[guards]\nshell = "off"\nloop = "off"\n'


def _work() -> tuple[Made, ...]:
    return Made("look", reads=True, pure=True), Made("work")


def _script() -> Script:
    """Six calls for `go`, an answer for their results, and another for the next message."""
    wanted = (
        ScriptedCall("look", "{}", "1"),
        ScriptedCall("look", "{}", "2"),
        ScriptedCall("work", "{}", "3"),
        ScriptedCall("bash", {"command": "echo hi"}, "4"),
        ScriptedCall("bash", {"command": f"sleep {SLEEP}", "background": True}, "5"),
        ScriptedCall("look", "{}", "6"),
    )
    every = re.compile("", re.DOTALL)
    steps = (
        ScriptStep("I do it.", wanted, when=re.compile("^go$")),
        ScriptStep("Done.", when=every, on="tool"),
        ScriptStep("Later.", when=re.compile("^and now")),
    )
    return Script(steps, echo=False)


def _model() -> dict[str, Provider]:
    return {"p": ScriptedProvider(_script())}


async def _after(rig: Rig, events: int, steps: int) -> bool:
    """Wait for so many more events, then a few steps; whether the turn still runs by then."""
    wanted, session = len(rig.events) + events, rig.runtime.gateway.sessions[CHAT.session_key]
    while len(rig.events) < wanted and session.jobs.busy:
        await trio.lowlevel.checkpoint()
    for _ in range(steps):
        await trio.lowlevel.checkpoint()
    return session.jobs.busy


@pytest.mark.parametrize("ending", ["/stop", "/new"])
async def test_a_turn_that_is_stopped_at_any_moment_leaves_nothing_behind(tmp_path: Path, ending: str) -> None:
    async with open_rig(tmp_path, (), RULE, tools=_work(), providers=_model(), deadline_s=60.0) as rig:
        events = 0
        while await _stopped_after(rig, events, ending):
            events += 4
        # To its very end the turn is one of six calls.
        assert events > 40
        assert rig.runtime.agent.tally.cached > 0


async def _stopped_after(rig: Rig, events: int, ending: str) -> bool:
    """Whether there was a turn to stop."""
    rig.room.answers = [Decision(True, "ann")] * 2
    await rig.runtime.gateway.receive(Inbound(CHAT, "go"))
    runs = await _after(rig, events, events % 5)
    await rig.say(ending)
    rig.room.answers = []
    answer = await rig.say("and now?")
    assert answer[-1] == "Later.", (events, answer)
    await settled(rig)
    assert await rig.say("/new") == ["A new conversation."]
    # A process in the background ends with its conversation.
    await none_left(SLEEP)
    assert rig.messages() == ()
    return runs


async def test_a_new_conversation_in_the_middle_of_a_turn_hears_nothing_of_the_old_one(tmp_path: Path) -> None:
    held, go_on = trio.Event(), trio.Event()

    async def holds(_call: object) -> str:
        held.set()
        with trio.CancelScope(shield=True):
            await go_on.wait()
        return "old"

    replies = (calls(("1", "work", "{}")), says("new"))
    async with open_rig(tmp_path, replies, tools=(Made("work", holds),)) as rig:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.say, "old question")
            await held.wait()
            for text in ("/new", "new question"):
                await rig.runtime.gateway.receive(Inbound(CHAT, text))
            go_on.set()
        await rig.runtime.gateway.idle(CHAT.session_key)
        assert [message.content for message in rig.messages()] == ["new question", "new"]
        assert [outbound.text for outbound in rig.room.sent] == ["A new conversation.", "new"]


async def test_the_trace_says_of_a_call_that_its_turn_has_ended_that_it_was_stopped(tmp_path: Path) -> None:
    async def waits(_call: object) -> str:
        await trio.sleep_forever()
        raise AssertionError

    tool, traced = Made("waits", waits), list[str]()
    reply = calls(("1", "waits", "{}"))
    async with open_rig(tmp_path, (reply,), tools=(tool,), hooks=(trace(traced.append),)) as rig:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.say, "go")
            while not tool.seen:
                await trio.lowlevel.checkpoint()
            await rig.say("/stop")
        [ended] = rig.payloads(ToolExecEnd)
    [line] = [it for it in traced if it.startswith("  | tool  ")]
    assert line == f"  | tool         waits  stopped in {ended.Duration / 1e6:.1f} ms"
