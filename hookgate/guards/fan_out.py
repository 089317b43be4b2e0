"""Bounds how often one tool is called in one turn; refuses before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from hookgate.guards.remembered import CallKey, Kept, Signature, SpecOf, called, finished, key_of, signature
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import ToolExecSkipped, TurnEnd
from hookgate.protocol.hook.answers import CONTINUE, Answer, Deny
from hookgate.protocol.hook.stages import Question


@dataclass
class _Turn:
    """What counts, by tool: of a pure tool each signature once, of another each call. `added`: by which call."""

    counted: dict[str, set[Signature | CallKey]] = field(default_factory=dict[str, "set[Signature | CallKey]"])
    added: dict[CallKey, Signature | CallKey] = field(default_factory=dict[CallKey, "Signature | CallKey"])
    seen: set[CallKey] = field(default_factory=set[CallKey])


class FanOutGuard:
    def __init__(self, limits: Mapping[str, int], spec_of: SpecOf) -> None:
        self._limits = limits
        self._spec_of = spec_of
        self._turns = Kept(_Turn)

    async def before_tool(self, question: Question) -> Answer:
        call = called(question)
        limit = self._limits.get(call.name)
        if limit is None:
            return CONTINUE
        turn, key = self._turns.of(question.step.turn_id), key_of(question.step, call.id)
        turn.seen.add(key)
        spec = self._spec_of(call.name)
        what = signature(call) if spec is not None and spec.pure else key
        counted = turn.counted.setdefault(call.name, set())
        # Asked again, since a hook has changed the call: it counts as what it is now.
        counted.discard(turn.added.pop(key, key))
        if what in counted:
            return CONTINUE
        if len(counted) >= limit:
            reason = f"{call.name} may be called {limit} times in one turn, and has been"
            return Deny(f"{reason}. Work with what you have, or ask for more in one call.", kind="budget")
        counted.add(what)
        turn.added[key] = what
        return CONTINUE

    async def after_tool(self, question: Question) -> Answer:
        """A result that was remembered cost nothing: its call does not count."""
        done, turn = finished(question), self._turns.find(question.step.turn_id)
        if turn is not None and done.result.cached:
            added = turn.added.pop(key_of(question.step, done.call.id), None)
            if added is not None:
                turn.counted[done.call.name].discard(added)
        return CONTINUE

    def hear(self, event: Event) -> None:
        """A call that failed before the gate saw it was a call all the same."""
        step = event.step
        match event.payload:
            case TurnEnd() if step is not None:
                self._turns.forget(step.turn_id)
            case ToolExecSkipped(Tool=tool, ToolCallID=call_id) as skipped if step is not None:
                if tool in self._limits and skipped.ErrorKind is not None:
                    self._early(self._turns.of(step.turn_id), tool, key_of(step, call_id))
            case _:
                pass

    def _early(self, turn: _Turn, tool: str, key: CallKey) -> None:
        if key not in turn.seen:
            turn.counted.setdefault(tool, set()).add(key)
