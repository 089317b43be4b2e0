"""What an extension hears of an agent that works on a task for another: its calls, as part of one turn."""

from __future__ import annotations

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import CallEnded, ReplyEnded, StepBegan
from hookgate.protocol.events.payload import Payload
from hookgate.protocol.events.payloads import TurnStart
from hookgate.protocol.values import Step, ToolCall, ToolResult
from hookgate.protocol.zot.events import HostEvent, ToolEnded, ToolProposed
from hookgate.protocol.zot.happened import translated

TASK = Step("clerk", "t2", Inbound(Chat("web", "1"), "look"), parent_turn_id="t1")
CALL = ToolCall("c1", "ls", {})


def heard(payload: Payload) -> tuple[HostEvent, ...]:
    return translated(Event(payload, TASK, 1, 0))


def test_an_extension_hears_of_the_calls_of_a_task_and_of_no_other_turn() -> None:
    assert heard(TurnStart("look", 0)) == heard(StepBegan(1)) == ()
    assert heard(ReplyEnded("I look.", "I look.", (CALL,), "tool_use")) == (ToolProposed("c1", "ls", {}),)
    [ended] = heard(CallEnded(CALL, ToolResult("a"), "completed", True))
    assert isinstance(ended, ToolEnded)
    assert ended.tool_name == "ls"
