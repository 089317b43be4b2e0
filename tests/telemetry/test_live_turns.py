"""What a turn does now, while another agent works on a task for it."""

from __future__ import annotations

from hookgate.cli.status.lines import activity
from hookgate.operations.status import TurnStatus
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payload import Payload
from hookgate.protocol.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    LlmRequest,
    ToolExecStart,
    TurnEnd,
    TurnStart,
)
from hookgate.protocol.values import Step
from hookgate.telemetry.turns import LiveTurns

CHAT = Chat("web", "1", "ann")
TURN = Step("main", "t1", Inbound(CHAT, "go"))
TASK = Step("clerk", "t2", Inbound(CHAT, "look"), parent_turn_id="t1")


def test_a_turn_that_waits_for_a_task_runs_its_tool_or_waits_for_a_person() -> None:
    turns = LiveTurns()

    def doing(payload: Payload, step: Step = TASK) -> tuple[str, ...] | None:
        turns.hear(Event(payload, step, 1, 0))
        now = turns.doing(CHAT.session_key)
        return None if now is None else (now.what, now.name, now.task_of)

    doing(TurnStart("go", 0), TURN)
    assert doing(ToolExecStart("delegate", {}, "d1"), TURN) == ("tool", "delegate", "")
    assert doing(TurnStart("look", 0)) == ("tool", "delegate", "clerk")
    assert doing(LlmRequest("p/m", 1, 0, 0, 0.0)) == ("tool", "delegate", "clerk")
    assert doing(ApprovalRequested("r", "bash", "rule:x", "?", 600.0, "d")) == ("person", "bash", "clerk")
    turn = TurnStatus("web:1", "main", "web", "M1", 0.0, "person", "bash", 0.0, 0, "clerk")
    assert activity(turn) == "waits for a person to decide about bash, in the task of agent clerk"
    assert doing(ApprovalDecided("r", "bash", True, "ann", "d")) == ("tool", "delegate", "clerk")
    assert doing(TurnEnd("completed", 1, 1, 1)) == ("tool", "delegate", "")
    assert doing(TurnEnd("completed", 2, 1, 1), TURN) is None
