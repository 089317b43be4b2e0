"""Refuses calls that change something until the turn has a plan; a sub-turn follows the plan of its parent."""

from __future__ import annotations

from hookgate.guards.remembered import Kept, SpecOf, called, finished
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import TurnEnd
from hookgate.protocol.hook.answers import CONTINUE, Answer, Deny
from hookgate.protocol.hook.match import Globs
from hookgate.protocol.hook.stages import Question


@dataclass
class _Turn:
    planned: bool = False


class PlanFirstGuard:
    """`plan_tools`: globs over the names of tools that make a plan."""

    def __init__(self, plan_tools: tuple[str, ...], spec_of: SpecOf) -> None:
        self._named = plan_tools
        self._plan_tools = Globs(plan_tools)
        self._spec_of = spec_of
        self._turns = Kept(_Turn)

    async def before_tool(self, question: Question) -> Answer:
        name, step = called(question).name, question.step
        if step.parent_turn_id or self._plan_tools.covers(name) or self._turns.of(step.turn_id).planned:
            return CONTINUE
        spec = self._spec_of(name)
        if spec is not None and spec.read_only:
            return CONTINUE
        return Deny(f"{name} changes something, and this turn has no plan yet: call {' or '.join(self._named)} first")

    async def after_tool(self, question: Question) -> Answer:
        done = finished(question)
        if self._plan_tools.covers(done.call.name) and not done.result.is_error:
            self._turns.of(question.step.turn_id).planned = True
        return CONTINUE

    def hear(self, event: Event) -> None:
        if isinstance(event.payload, TurnEnd) and event.step is not None:
            self._turns.forget(event.step.turn_id)
