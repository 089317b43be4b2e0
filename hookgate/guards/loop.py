"""Notices that a model tries the same thing over and over: advice first, then refusal. Counts per turn.

A call that fails before the gate sees it (unreadable, unknown, invalid) or that another hook denies is known from its
event; the advice it earns is put under its result when the model is asked the next time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field

from hookgate.guards.remembered import CallKey, Kept, Signature, SpecOf, advised, called, finished, key_of, signature
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import ToolExecEnd, ToolExecSkipped, TurnEnd
from hookgate.protocol.hook.answers import CONTINUE, Answer, Deny, Modify
from hookgate.protocol.hook.stages import Question
from hookgate.protocol.values import LLMRequest, Message, ProposedCall


@dataclass(frozen=True)
class LoopLimits:
    """Which attempt at the same call gets advice and which is refused; the same for a tool with other arguments;
    how much advice a turn gets; which success of one read-only call gets advice."""

    same_advice: int = 3
    same_refuse: int = 4
    tool_advice: int = 4
    tool_refuse: int = 8
    advice_limit: int = 5
    repeats: int = 5


@dataclass
class _Turn:
    """`failed` and `tools` hold the kinds of the failures in order; `under` is advice by call id."""

    failed: dict[Signature, list[str]] = field(default_factory=dict[Signature, list[str]])
    tools: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    arguments: dict[str, set[Signature]] = field(default_factory=dict[str, set[Signature]])
    succeeded: Counter[Signature] = field(default_factory=Counter[Signature])
    told: set[str] = field(default_factory=set[str])
    advice: int = 0
    asked: dict[CallKey, Signature] = field(default_factory=dict[CallKey, Signature])
    counted: set[CallKey] = field(default_factory=set[CallKey])
    unread: dict[str, str] = field(default_factory=dict[str, str])
    under: dict[str, str] = field(default_factory=dict[str, str])


class LoopGuard:
    def __init__(self, limits: LoopLimits, spec_of: SpecOf) -> None:
        self._limits = limits
        self._spec_of = spec_of
        self._turns = Kept(_Turn)

    # --- the stages ---

    async def before_tool(self, question: Question) -> Answer:
        call, turn = called(question), self._turns.of(question.step.turn_id)
        same = signature(call)
        key = key_of(question.step, call.id)
        turn.asked[key] = same
        refusal = self._refusal(turn, same)
        if refusal is None:
            return CONTINUE
        # Its own refusals are no failures of the tool.
        turn.counted.add(key)
        return refusal

    async def after_tool(self, question: Question) -> Answer:
        done, turn = finished(question), self._turns.of(question.step.turn_id)
        key = key_of(question.step, done.call.id)
        same = turn.asked.get(key) or signature(done.call)
        turn.counted.add(key)
        if done.result.is_error:
            kind = done.result.error.kind if done.result.error else "unknown"
            advice = self._failure(turn, same, kind)
        else:
            advice = self._success(turn, same)
        return Modify({"for_llm": advised(done.result.for_llm, advice)}) if advice else CONTINUE

    async def before_llm(self, question: Question) -> Answer:
        """Put advice under the results of calls that no other stage saw."""
        turn, request = self._turns.find(question.step.turn_id), question.subject
        if turn is None or not isinstance(request, LLMRequest):
            return CONTINUE
        if turn.unread:
            self._read(turn, request.messages)
        if not turn.under:
            return CONTINUE
        return Modify({"messages": tuple(_under(turn.under, message) for message in request.messages)})

    def hear(self, event: Event) -> None:
        step = event.step
        if step is None:
            return
        match event.payload:
            case TurnEnd():
                self._turns.forget(step.turn_id)
            case ToolExecSkipped(ToolCallID=call_id) as skipped:
                self._early(self._turns.of(step.turn_id), key_of(step, call_id), skipped.ErrorKind)
            case ToolExecEnd(ToolCallID=call_id, IsError=True) as ended:
                self._early(self._turns.of(step.turn_id), key_of(step, call_id), ended.ErrorKind or "unknown")
            case _:
                pass

    # --- counting ---

    def _early(self, turn: _Turn, key: CallKey, kind: str | None) -> None:
        """A call that ended without after_tool; without a kind it was dropped, which is nobody's failure."""
        if kind is None or key in turn.counted:
            return
        turn.counted.add(key)
        same = turn.asked.get(key)
        if same is None:
            turn.unread[key[1]] = kind
        elif advice := self._failure(turn, same, kind):
            turn.under[key[1]] = advice

    def _read(self, turn: _Turn, messages: Sequence[Message]) -> None:
        """What calls said that never reached the gate stands in the transcript."""
        proposed: dict[str, ProposedCall] = {call.id: call for message in messages for call in message.tool_calls}
        for call_id, kind in turn.unread.items():
            call = proposed.get(call_id)
            if call is None:
                continue
            same = (call.name, call.arguments.encode("utf-8", "replace"))
            if advice := self._failure(turn, same, kind):
                turn.under[call_id] = advice
        turn.unread.clear()

    def _failure(self, turn: _Turn, same: Signature, kind: str) -> str:
        """Count it; the advice that it earns, if any."""
        limits, tool = self._limits, same[0]
        kinds = turn.failed.setdefault(same, [])
        kinds.append(kind)
        every = turn.tools.setdefault(tool, [])
        every.append(kind)
        turn.arguments.setdefault(tool, set()).add(same)
        if len(kinds) == limits.same_advice or len(kinds) >= limits.same_refuse:
            return self._advise(turn, f"this same call has failed {len(kinds)} times. {_instead(kinds)}")
        if self._tool_is_due(turn, tool, len(every)):
            turn.told.add(tool)
            return self._advise(turn, f"{tool} has failed {len(every)} times in this turn. {_instead(every)}")
        return ""

    def _tool_is_due(self, turn: _Turn, tool: str, failures: int) -> bool:
        various = len(turn.arguments.get(tool, ())) > 1
        return various and failures >= self._limits.tool_advice and tool not in turn.told

    def _success(self, turn: _Turn, same: Signature) -> str:
        if not self._reads_only(same[0]):
            self._changed(turn, same[0])
            return ""
        turn.succeeded[same] += 1
        count = turn.succeeded[same]
        if count % self._limits.repeats:
            return ""
        return self._advise(
            turn, f"this same call has succeeded {count} times in this turn. Use the result, or ask something else."
        )

    def _changed(self, turn: _Turn, tool: str) -> None:
        """After an edit a command meets another world: a test that failed before it is worth another run."""
        spec = self._spec_of(tool)
        # A stranger's tool counts as changing everything, which tells nothing.
        if spec is None or not spec.mutates or spec.provider != "builtin":
            return
        for name in [name for name in turn.tools if self._is_command(name)]:
            del turn.tools[name]
            turn.failed = {same: kinds for same, kinds in turn.failed.items() if same[0] != name}

    def _is_command(self, tool: str) -> bool:
        spec = self._spec_of(tool)
        return spec is not None and spec.affects_workspace and not spec.mutates

    def _advise(self, turn: _Turn, advice: str) -> str:
        if turn.advice >= self._limits.advice_limit:
            return ""
        turn.advice += 1
        return advice

    # --- refusing ---

    def _refusal(self, turn: _Turn, same: Signature) -> Deny | None:
        limits, tool = self._limits, same[0]
        kinds, every = turn.failed.get(same, []), turn.tools.get(tool, [])
        if len(kinds) + 1 >= limits.same_refuse:
            return Deny(
                f"this same call has failed {len(kinds)} times in this turn and is not run again. {_instead(kinds)}",
                kind="fatal",
            )
        if len(every) + 1 >= limits.tool_refuse:
            return Deny(f"{tool} has failed {len(every)} times in this turn. {_instead(every)}", kind="budget")
        if turn.advice >= limits.advice_limit and self._would_be_advised(turn, same):
            given = f"this turn has had all its {limits.advice_limit} pieces of advice about calls that lead nowhere"
            return Deny(f"{given}. Stop here and say what you have and what is missing.", kind="budget")
        return None

    def _would_be_advised(self, turn: _Turn, same: Signature) -> bool:
        """Whether one more failure, or one more success, of this call earned advice."""
        failures = len(turn.failed.get(same, ())) + 1
        if failures >= self._limits.same_advice:
            return True
        if self._tool_is_due(turn, same[0], len(turn.tools.get(same[0], ())) + 1):
            return True
        successes = turn.succeeded[same] + 1 if same in turn.succeeded else 1
        return self._reads_only(same[0]) and successes % self._limits.repeats == 0

    def _reads_only(self, tool: str) -> bool:
        spec = self._spec_of(tool)
        return spec is not None and spec.read_only


_INSTEAD: Mapping[str, str] = {
    "validation": "Fix the format: write the arguments as the tool's schema asks.",
    "stale": "Read the target again and work from what it holds now.",
    "transient": "The fault lies outside: do something else, or say what cannot be reached.",
}


def _instead(kinds: Sequence[str]) -> str:
    """What to do, by what all the failures have in common."""
    one = set(kinds)
    known = _INSTEAD.get(next(iter(one))) if len(one) == 1 else None
    return known or "Try a smaller step, or another tool."


def _under(advice: Mapping[str, str], message: Message) -> Message:
    if message.role != "tool" or message.tool_call_id not in advice:
        return message
    return replace(message, content=advised(message.content, advice[message.tool_call_id]))
