"""What each turn does now, heard from events as they come: nobody is asked. Knows no session and no gateway."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import CompactionBegan, CompactionEnded, ReplyEnded, StepBegan
from hookgate.protocol.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    LlmRequest,
    LlmResponse,
    Payload,
    ToolExecEnd,
    ToolExecStart,
    TurnEnd,
    TurnStart,
)
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import Step

Doing = Literal["hooks", "model", "tool", "person", "slot", "compacting", "sending"]

_KINDS: tuple[type[Payload], ...] = (
    *(TurnStart, TurnEnd, StepBegan, LlmRequest, LlmResponse, ReplyEnded, ToolExecStart, ToolExecEnd),
    *(ApprovalRequested, ApprovalDecided, CompactionBegan, CompactionEnded),
)
OBSERVED = tuple(kind.kind for kind in _KINDS)
DELEGATE = "delegate"
"""The tool whose calls begin tasks of other agents."""


@dataclass(frozen=True, slots=True)
class Activity:
    """`what`: hooks are asked, a model or a tool runs, a person has to decide, a place among the turns at work has to
    come free, what is older is summed up, the chat is brought what was said. `name`: of the stage, the model, the
    tool. `since`: seconds of the wall clock. `id`: of the call, or of the request. `task_of`: the agent that does it
    in a task for the turn; empty: it is the turn's own."""

    what: Doing
    name: str
    since: float
    id: str = ""
    task_of: str = ""


@dataclass
class _Turn:
    """`apart`: calls that run and requests that wait, the last one last; `tasks`: agents that work on some, by their
    turns. `compacts`: it is none, but sums up."""

    id: str
    now: Activity
    apart: dict[str, Activity] = field(default_factory=dict[str, Activity])
    tasks: dict[str, str] = field(default_factory=dict[str, str])
    compacts: bool = False


class LiveTurns:
    """By the key of the conversation, of which each has one at a time."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}

    def doing(self, session: str) -> Activity | None:
        """None: nothing has begun there."""
        turn = self._turns.get(session)
        if turn is None:
            return None
        now = next(reversed(turn.apart.values()), turn.now)
        delegates = now.what == "tool" and now.name == DELEGATE
        return replace(now, task_of=next(reversed(turn.tasks.values()), "")) if delegates else now

    def hear(self, event: Event) -> None:
        step, at = event.step, event.time_ns / 1e9
        if step is None:
            return
        key = step.session_key
        turn = self._turns.get(key)
        if step.parent_turn_id:
            if turn is not None:
                _hear_task(turn, step, event.payload, at)
            return
        match event.payload:
            case TurnStart():
                self._turns[key] = _Turn(step.turn_id, Activity("hooks", Stage.ON_MESSAGE, at))
            case CompactionBegan() if turn is None:
                self._turns[key] = _Turn(step.turn_id, Activity("compacting", "", at), compacts=True)
            case TurnEnd() | CompactionEnded() if (
                turn is not None and turn.id == step.turn_id and (turn.compacts or isinstance(event.payload, TurnEnd))
            ):
                del self._turns[key]
            case payload if turn is not None:
                _hear(turn, payload, at)
            case _:
                pass


def _hear_task(turn: _Turn, step: Step, payload: Payload, at: float) -> None:
    """Of a task of another agent: whose it is, and what a person is asked; else the turn waits for the tool."""
    match payload:
        case TurnStart():
            turn.tasks[step.turn_id] = step.agent
        case TurnEnd():
            turn.tasks.pop(step.turn_id, None)
        case ApprovalRequested() | ApprovalDecided():
            _hear(turn, payload, at, step.agent)
        case _:
            pass


def _hear(turn: _Turn, payload: Payload, at: float, task_of: str = "") -> None:
    match payload:
        case StepBegan() | CompactionEnded():
            turn.now = Activity("hooks", Stage.BEFORE_LLM, at)
        case CompactionBegan():
            turn.now = Activity("compacting", "", at)
        case LlmRequest(Model=model):
            turn.now = Activity("model", model, at)
        case LlmResponse():
            turn.now = Activity("hooks", Stage.AFTER_LLM, at)
        case ReplyEnded(stop="tool_use"):
            turn.now = Activity("hooks", Stage.BEFORE_TOOL, at)
        case ReplyEnded():
            turn.now = Activity("sending", "", at)
        case ToolExecStart(Tool=tool, ToolCallID=id_):
            turn.apart[id_] = Activity("tool", tool, at, id_)
        case ToolExecEnd(ToolCallID=id_):
            turn.apart.pop(id_, None)
            turn.now = Activity("hooks", Stage.BEFORE_TOOL, at)
        case ApprovalRequested(id=id_, tool=tool):
            turn.apart[id_] = Activity("person", tool, at, id_, task_of)
        case ApprovalDecided(id=id_):
            turn.apart.pop(id_, None)
        case _:
            pass
