"""What works on an answer, as lines: which model is asked, which calls run, and how each has ended."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.channels.terminal.display.working import OBSERVED, QUIET_S, Working
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import (
    CallDecided,
    CallEnded,
    CallWritten,
    CompactionBegan,
    ReplyEnded,
    StepBegan,
)
from hookgate.protocol.events.payload import Payload
from hookgate.protocol.events.payloads import (
    ApprovalRequested,
    LlmRequest,
    LlmResponse,
    LlmRetry,
    ToolExecEnd,
    ToolExecStart,
    TurnEnd,
)
from hookgate.protocol.values import Fault, Step, ToolCall, ToolResult
from hookgate.protocol.values.delta import CallPiece
from hookgate.protocol.values.effects import ProcessEffect

CHAT = Chat("cli", "terminal")
STEP = Step("main", "turn-1", Inbound(CHAT, "go"))
TASK = Step("research", "turn-2", Inbound(CHAT, "look"), parent_turn_id="turn-1")
MAKE = ToolCall("1", "bash", {"command": "make\ntest", "timeout": 5})
ASKED = LlmRequest("p/m", 1, 0, 0, 0.0)


class Scene:
    """`now` in seconds."""

    def __init__(self) -> None:
        self.working = Working(CHAT.channel)
        self.now = 100.0
        self.ended: list[str] = []

    def hear(self, *payloads: Payload, step: Step = STEP) -> None:
        for payload in payloads:
            assert payload.kind in OBSERVED, "nothing else is heard"
            ended = self.working.hear(Event(payload, step, 1, round(self.now * 1e9)))
            self.ended += [f"{ended.line}{'' if ended.well else ' !'}"] if ended else []

    def after(self, seconds: float) -> list[str]:
        self.now += seconds
        return self.working.lines(self.now)


def ended(result: ToolResult, status: Any = "failed", *, executed: bool = True) -> CallEnded:
    return CallEnded(MAKE, result, status, executed)


def test_while_nothing_streams_it_says_what_is_waited_for_and_since_when() -> None:
    scene = Scene()
    scene.hear(StepBegan(1), ASKED)
    assert scene.after(QUIET_S / 2) == []
    assert scene.after(4) == ["· asking p/m … 4 s"]
    scene.working.wrote(scene.now)
    assert scene.after(QUIET_S / 2) == []
    scene.hear(CallWritten(CallPiece("1", "bash")))
    assert scene.after(2) == ["· writing a call of bash … 6 s"]
    scene.hear(LlmResponse(0, 1, False))
    assert scene.after(1) == ["· hooks at after_llm … 1 s"]
    scene.hear(ReplyEnded("", None, (), "tool_use"))
    assert scene.after(1) == ["· hooks at before_tool … 1 s"]
    scene.hear(TurnEnd("completed", 1, 0, 0))
    assert (scene.after(9), scene.working.busy) == ([], False)


def test_an_answer_that_goes_elsewhere_is_no_model_that_is_silent() -> None:
    scene = Scene()
    scene.hear(ASKED)
    scene.working.receives()
    assert scene.after(4) == ["· receiving the answer … 4 s"]
    scene.hear(LlmRetry(1, 2, "network", "p: gone", 3_000_000_000))
    assert scene.after(1) == ["· asking p/m: retry 1 of 2 in 2 s (p: gone)"]


def test_while_a_person_is_asked_nothing_else_is_waited_for() -> None:
    scene = Scene()
    scene.hear(StepBegan(1), ASKED, LlmResponse(0, 1, False), ReplyEnded("", None, (), "tool_use"))
    assert scene.after(1) == ["· hooks at before_tool … 1 s"]
    scene.hear(ApprovalRequested("r", "bash", "rule:a", "", 600.0, "d"))
    assert (scene.after(6), scene.working.busy) == ([], False)
    scene.hear(CallDecided(MAKE, "approved", "user"), ToolExecStart.of(MAKE))
    assert scene.after(2) == ["· bash: make \\n test … 2 s"]


def test_before_another_try_it_counts_down_and_says_why() -> None:
    scene = Scene()
    scene.hear(ASKED, LlmRetry(1, 3, "rate_limit", "429: slow\x1b[2J down", 3_000_000_000))
    assert scene.after(0) == ["· asking p/m: retry 1 of 3 in 3 s (429: slow\\x1b[2J down)"]
    assert scene.after(2.5) == ["· asking p/m: retry 1 of 3 in 1 s (429: slow\\x1b[2J down)"]
    assert scene.after(1) == ["· asking p/m, retry 1 of 3 … 4 s"]


def test_of_a_call_that_broke_off_nothing_is_said_while_the_model_is_asked_again() -> None:
    scene = Scene()
    written = [CallWritten(CallPiece(id, "ls")) for id in "12"]
    scene.hear(ASKED, *written, LlmRetry(1, 2, "network", "the stream was cut", 1_000_000_000))
    assert scene.after(0) == ["· asking p/m: retry 1 of 2 in 1 s (the stream was cut)"]
    assert scene.after(4) == ["· asking p/m, retry 1 of 2 … 4 s"]


def test_a_call_is_there_while_it_runs_and_a_line_when_it_has_ended() -> None:
    scene = Scene()
    scene.hear(ASKED, ToolExecStart.of(MAKE))
    assert scene.after(3) == ["· bash: make \\n test … 3 s"]
    done = ToolResult("ok")
    scene.hear(ToolExecEnd.of(MAKE, done, 3_210_000_000), ended(done, "completed"))
    assert scene.ended == ["· bash: make \\n test … 3.2 s ok"]
    assert scene.after(9) == []


FAULT = Fault("permission", "before_tool", "not\there", "hook:no-rm")


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (ended(ToolResult("ok", cached=True), "completed"), "cached"),
        (
            ended(ToolResult("x", is_error=True, error=FAULT), "blocked", executed=False),
            "denied by no-rm: not\\there !",
        ),
        (
            ended(ToolResult("why\nmore", is_error=True), executed=False),
            "failed: why !",
        ),
        (ended(ToolResult("", is_error=True, effects=(ProcessEffect("make", 2),))), "1.5 s failed: exit 2 !"),
        (ended(ToolResult("x", is_error=True), "timed_out"), "1.5 s failed: it took too long !"),
        (ended(ToolResult("x", is_error=True), "cancelled"), "1.5 s stopped !"),
        (ended(ToolResult("x", is_error=True), "cancelled", executed=False), "not run !"),
    ],
)
def test_a_line_says_how_a_call_has_ended(told: CallEnded, line: str) -> None:
    scene = Scene()
    scene.hear(ToolExecStart.of(MAKE), ToolExecEnd.of(MAKE, told.outcome, 1_500_000_000), told)
    assert scene.ended == [f"· bash: make \\n test … {line}"]


def test_a_call_that_a_person_was_asked_about_says_so() -> None:
    scene = Scene()
    scene.hear(CallDecided(MAKE, "approved", "user"))
    assert (scene.after(2), scene.working.busy) == ([], False)
    scene.hear(ToolExecStart.of(MAKE), ended(ToolResult("ok"), "completed"))
    assert scene.ended == ["· bash: make \\n test … ok, asked"]


def test_what_another_agent_does_for_the_turn_carries_its_name_and_other_channels_are_left_out() -> None:
    scene = Scene()
    task = ToolCall("1", "delegate", {"task": "look it up", "agent": "research"})
    scene.hear(ToolExecStart.of(task))
    scene.hear(ASKED, ToolExecStart.of(MAKE), step=TASK)
    scene.hear(ASKED, step=Step("main", "turn-3", Inbound(Chat("web", "1"), "hi")))
    assert scene.after(1) == ["· delegate: look it up … 1 s", "· research: bash: make \\n test … 1 s"]
    scene.hear(ended(ToolResult("ok"), "completed"), ASKED, step=TASK)
    assert scene.ended == ["· research: bash: make \\n test … ok"]
    assert scene.after(1) == ["· delegate: look it up … 2 s", "· research: asking p/m … 1 s"]


def test_what_is_long_is_cut_and_nothing_in_it_is_another_line() -> None:
    scene = Scene()
    scene.hear(ToolExecStart.of(ToolCall("1", "x\ny", {"path": "a\x1b[2J" + "b" * 500})), CompactionBegan("1", 1, 1))
    call, wait = scene.after(1)
    assert call == f"· x\\ny: a\\x1b[2J{'b' * 51}… 1 s"
    assert wait == "· summing up the conversation … 1 s"
