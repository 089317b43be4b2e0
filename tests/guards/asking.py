"""Questions and events as a guard meets them, without a gate: one turn, whose calls are made here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Protocol

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import Payload, ToolExecSkipped, TurnEnd
from hookgate.protocol.hook.answers import Answer, Continue, Deny, Modify
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Fault, FaultKind, Finished, Json, Step, ToolCall, ToolResult, ToolSpec

STEP = Step("main", "turn-1", Inbound(Chat("test", "1"), "go"), model="p/m")
_IDS = count(1)

READS = {"read", "ls", "grep", "glob"}


def spec_of(name: str) -> ToolSpec | None:
    """Known are four tools that read, all but `read` pure, and three that change; everything else is a stranger's."""
    if name in READS:
        return ToolSpec(name, "", {}, mutates=False, affects_workspace=False, pure=name != "read")
    if name == "bash":
        return ToolSpec(name, "", {}, mutates=False)
    return ToolSpec(name, "", {}) if name in ("write", "edit") else None


class Guard(Protocol):
    async def before_tool(self, question: Question) -> Answer: ...
    async def after_tool(self, question: Question) -> Answer: ...


@dataclass(frozen=True)
class Told:
    """What came of a call: how it was refused, or what the model read."""

    refused: FaultKind | None = None
    text: str = ""

    @property
    def advice(self) -> str:
        return self.text.partition("Advice: ")[2]


def call(name: str, **arguments: Json) -> ToolCall:
    return ToolCall(f"c{next(_IDS)}", name, arguments)


@dataclass
class Turn:
    """Puts calls to one guard as the gate does."""

    guard: Guard
    step: Step = STEP

    def asking(self, made: ToolCall) -> Question:
        return Question(Stage.BEFORE_TOOL, self.step, made)

    async def ran(self, made: ToolCall, result: ToolResult | None = None) -> Told:
        """The call, with the result that running it had."""
        answer = await self.guard.before_tool(self.asking(made))
        if isinstance(answer, Deny):
            return Told(answer.kind, answer.reason)
        assert isinstance(answer, Continue)
        finished = Finished(made, result or ToolResult("done"), 1)
        after = await self.guard.after_tool(Question(Stage.AFTER_TOOL, self.step, finished))
        if isinstance(after, Modify):
            assert set(after.changes) == {"for_llm"}
            return Told(text=after.changes["for_llm"])
        assert isinstance(after, Continue)
        return Told(text=finished.result.for_llm)

    async def failed(self, made: ToolCall, kind: FaultKind = "unknown") -> Told:
        return await self.ran(made, failure(kind))

    def event(self, payload: Payload) -> Event:
        return Event(payload, self.step, 1, 0)

    def early(self, made: ToolCall, kind: FaultKind | None = "validation") -> Event:
        return self.event(ToolExecSkipped(made.name, "it does not fit", made.id, kind))

    @property
    def end(self) -> Event:
        return self.event(TurnEnd("completed", 1, 1, 1))

    def another(self, turn_id: str) -> Turn:
        return Turn(self.guard, replace(self.step, turn_id=turn_id))


def failure(kind: FaultKind) -> ToolResult:
    return ToolResult("it failed", is_error=True, error=Fault(kind, "t", "it failed"))
