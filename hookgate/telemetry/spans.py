"""Turns as traces: a span for each turn, model call, tool call, question to a hook and wait for a person, made of the
events that tell of them. Knows no wire and waits for nobody."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from random import getrandbits

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import CallEnded, ReplyEnded
from hookgate.protocol.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    GateDecision,
    LlmRequest,
    LlmResponse,
    LlmRetry,
    Payload,
    ToolExecEnd,
    ToolExecStart,
    TurnEnd,
    TurnStart,
)
from hookgate.protocol.values import Step
from hookgate.telemetry import conventions as names

Value = str | int | float | bool
Kind = int
INTERNAL, SERVER, CLIENT = 1, 2, 3

_KINDS: tuple[type[Payload], ...] = (
    *(TurnStart, TurnEnd, LlmRequest, LlmResponse, LlmRetry, ReplyEnded, ToolExecStart, ToolExecEnd),
    *(GateDecision, ApprovalRequested, ApprovalDecided),
)
OBSERVED = tuple(kind.kind for kind in _KINDS)
TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
"""As W3C Trace Context has it; of a later version what this one knows."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened within a span."""

    name: str
    at_ns: int
    attributes: Mapping[str, Value]


@dataclass(slots=True)
class Span:
    """Ids in hex; `parent` empty: it is the first of its trace. `ended_ns` 0: what it tells of has not ended.
    `error`: what kind of failure; empty: none. It is filled until it is taken, and nobody changes it from then on."""

    trace: str
    id: str
    parent: str
    name: str
    kind: Kind
    began_ns: int
    ended_ns: int
    attributes: dict[str, Value]
    error: str = ""
    moments: tuple[Moment, ...] = ()


@dataclass(slots=True)
class _Turn:
    """`asked`: the model call that runs, or has been answered; `apart`: calls that run and requests that wait."""

    root: Span
    asked: Span | None = None
    apart: dict[str, Span] = field(default_factory=dict[str, Span])

    def open(self, name: str, kind: Kind, now: int, attributes: dict[str, Value]) -> Span:
        return Span(self.root.trace, _random_id(64), self.root.id, name, kind, now, 0, attributes)


class Tracing:
    """`take` gets each span as it ends. `content`: what was said, asked of tools and answered by them goes along,
    without secrets."""

    def __init__(self, take: Callable[[Span], None], *, content: bool = False) -> None:
        self._take, self._content = take, content
        self._turns: dict[str, _Turn] = {}

    @property
    def observed(self) -> tuple[str, ...]:
        return (*OBSERVED, CallEnded.kind) if self._content else OBSERVED

    def hear(self, event: Event) -> None:
        step, payload, now = event.step, event.payload, event.time_ns
        if step is None:
            return
        if isinstance(payload, TurnStart):
            self._turns[step.turn_id] = self._begun(step, payload, now)
        elif (turn := self._turns.get(step.turn_id)) is not None:
            match payload:
                case TurnEnd():
                    self._ended(self._turns.pop(step.turn_id), payload, now)
                case LlmRequest() | LlmRetry() | LlmResponse() | ReplyEnded():
                    self._hear_model(turn, payload, now)
                case ToolExecStart() | ToolExecEnd() | CallEnded():
                    self._hear_tool(turn, payload, now)
                case ApprovalRequested() | ApprovalDecided():
                    self._hear_person(turn, payload, now)
                case GateDecision():
                    self._end(_asked_of(turn, payload, now), now)
                case _:
                    pass

    def _begun(self, step: Step, payload: TurnStart, now: int) -> _Turn:
        above, its = self._turns.get(step.parent_turn_id), TRACEPARENT.fullmatch(step.inbound.trace)
        attributes: dict[str, Value] = {
            names.OPERATION: names.INVOKE_AGENT,
            names.AGENT_NAME: step.agent,
            names.CONVERSATION_ID: step.session_key,
            names.CHANNEL: step.chat.channel,
            **self._said(names.INPUT_MESSAGES, "user", payload.UserMessage),
        }
        name = f"{names.INVOKE_AGENT} {step.agent}"
        if above is not None:
            return _Turn(above.open(name, INTERNAL, now, attributes))
        trace, parent = (its[1], its[2]) if its else (_random_id(128), "")
        return _Turn(Span(trace, _random_id(64), parent, name, SERVER, now, 0, attributes))

    def _ended(self, turn: _Turn, payload: TurnEnd, now: int) -> None:
        """What is still open ends with it."""
        for left in (*turn.apart.values(), *([turn.asked] if turn.asked is not None else ())):
            left.error = left.error or ("" if left.ended_ns else "cancelled")
            self._end(left, now)
        turn.root.attributes |= {names.TURN_STATUS: payload.Status, names.TURN_STEPS: payload.Iterations}
        turn.root.error = "" if payload.Status == "completed" else payload.Status
        self._end(turn.root, now)

    def _hear_model(self, turn: _Turn, payload: LlmRequest | LlmRetry | LlmResponse | ReplyEnded, now: int) -> None:
        asked = turn.asked
        match payload:
            case LlmRequest():
                if asked is not None:
                    self._end(asked, now)
                turn.asked = _model_call(turn, payload, now)
            case _ if asked is None:
                pass
            case LlmRetry():
                wait = {names.RETRY_REASON: payload.Reason, names.RETRY_WAIT_S: payload.Backoff / 1e9}
                asked.moments = (*asked.moments, Moment(names.RETRY, now, wait))
            case LlmResponse():
                asked.ended_ns = now
            case ReplyEnded(usage=usage):
                if usage is not None:
                    asked.attributes[names.INPUT_TOKENS] = usage.prompt_tokens
                    asked.attributes[names.OUTPUT_TOKENS] = usage.completion_tokens
                asked.attributes |= self._said(names.OUTPUT_MESSAGES, "assistant", payload.said)
                asked.error = "" if asked.ended_ns else payload.stop
                self._end(asked, now)
                turn.asked = None

    def _hear_tool(self, turn: _Turn, payload: ToolExecStart | ToolExecEnd | CallEnded, now: int) -> None:
        match payload:
            case ToolExecStart(Tool=tool, ToolCallID=id_):
                attributes: dict[str, Value] = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL_NAME: tool}
                attributes[names.TOOL_CALL_ID] = id_
                if self._content:
                    attributes[names.TOOL_ARGUMENTS] = encode(payload.Arguments).decode()
                turn.apart[id_] = turn.open(f"{names.EXECUTE_TOOL} {tool}", INTERNAL, now, attributes)
            case ToolExecEnd(ToolCallID=id_) if id_ in turn.apart:
                call = turn.apart[id_]
                # What hooks say of the result comes after it.
                call.ended_ns = call.began_ns + payload.Duration
                call.error = payload.failure
                if not self._content:
                    self._end(turn.apart.pop(id_), now)
            case CallEnded(call=call, outcome=outcome) if call.id in turn.apart:
                turn.apart[call.id].attributes[names.TOOL_RESULT] = outcome.for_llm
                self._end(turn.apart.pop(call.id), now)
            case _:
                pass

    def _hear_person(self, turn: _Turn, payload: ApprovalRequested | ApprovalDecided, now: int) -> None:
        if isinstance(payload, ApprovalRequested):
            attributes: dict[str, Value] = {names.APPROVAL_ID: payload.id, names.TOOL_NAME: payload.tool}
            turn.apart[payload.id] = turn.open(f"{names.APPROVAL} {payload.tool}", INTERNAL, now, attributes)
        elif (waited := turn.apart.pop(payload.id, None)) is not None:
            waited.attributes |= {names.APPROVED: payload.approved, names.APPROVED_BY: payload.by}
            self._end(waited, now)

    def _said(self, name: str, role: str, text: str) -> dict[str, Value]:
        """One message, as the conventions write it."""
        if not self._content or not text:
            return {}
        return {name: encode([{"role": role, "parts": [{"type": "text", "content": text}]}]).decode()}

    def _end(self, it: Span, now: int) -> None:
        it.ended_ns = it.ended_ns or now
        if it.error:
            it.attributes[names.ERROR_TYPE] = it.error
        self._take(it)


def _model_call(turn: _Turn, payload: LlmRequest, now: int) -> Span:
    provider, _, model = payload.Model.partition("/")
    attributes: dict[str, Value] = {
        names.OPERATION: names.CHAT,
        names.PROVIDER: provider,
        names.REQUEST_MODEL: model,
    }
    if payload.MaxTokens:
        attributes[names.REQUEST_MAX_TOKENS] = payload.MaxTokens
    if payload.Temperature:
        attributes[names.REQUEST_TEMPERATURE] = payload.Temperature
    return turn.open(f"{names.CHAT} {model}", CLIENT, now, attributes)


def _asked_of(turn: _Turn, payload: GateDecision, now: int) -> Span:
    attributes: dict[str, Value] = {
        names.HOOK_NAME: payload.hook,
        names.HOOK_STAGE: payload.stage,
        names.HOOK_ACTION: payload.action,
    }
    if payload.tool:
        attributes[names.TOOL_NAME] = payload.tool
    name = f"{names.HOOK} {payload.stage} {payload.hook}"
    asked = turn.open(name, CLIENT, now - payload.duration_ns, attributes)
    asked.error = "failed" if payload.failed else ""
    return asked


def _random_id(bits: int) -> str:
    """Told apart from others by it, and nothing is kept secret by it."""
    return getrandbits(bits).to_bytes(bits // 8).hex()
