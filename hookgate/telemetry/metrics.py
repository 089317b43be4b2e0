"""What a gateway has done since its start, counted as events tell of it. Labels are names of the configuration and
of what it stands for, never chats or people."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import ReplyEnded
from hookgate.protocol.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    GateDecision,
    HookFailed,
    LlmRequest,
    LlmResponse,
    LlmRetry,
    Payload,
    ToolExecEnd,
    ToolExecSkipped,
    TurnEnd,
)
from hookgate.protocol.values import Step
from hookgate.telemetry.exposition import Counts, Durations, Family

_KINDS: tuple[type[Payload], ...] = (
    *(TurnEnd, LlmRequest, LlmResponse, LlmRetry, ReplyEnded, ToolExecEnd, ToolExecSkipped),
    *(GateDecision, HookFailed, ApprovalRequested, ApprovalDecided),
)
OBSERVED = tuple(kind.kind for kind in _KINDS)


class Metrics:
    """`hear` takes events of any conversation; what began and has not ended is kept for no longer than its turn."""

    def __init__(self) -> None:
        self._turns = Durations(
            "hookgate_turn_duration_seconds", "Turns, from their start to their end.", "agent", "channel", "outcome"
        )
        self._models = Durations(
            "hookgate_model_duration_seconds", "Model calls, with their retries.", "agent", "model", "outcome"
        )
        self._tools = Durations("hookgate_tool_duration_seconds", "Tool calls that ran.", "tool", "outcome")
        self._hooks = Durations(
            "hookgate_hook_duration_seconds", "Questions to hooks, by what they decided.", "hook", "stage", "action"
        )
        self._people = Durations("hookgate_approval_duration_seconds", "Waits for people.", "tool", "outcome")
        self._retries = Counts("hookgate_model_retries", "Model calls that were tried again.", "agent", "reason")
        self._tokens = Counts("hookgate_model_tokens", "Tokens, as providers count them.", "agent", "direction")
        self._skipped = Counts("hookgate_tool_skipped", "Tool calls that did not run, by why.", "reason")
        self._failed = Counts("hookgate_hook_failures", "Questions that a hook failed at.", "hook", "stage", "policy")
        # When they began, in nanoseconds, by the turn that they belong to.
        self._asked: dict[str, int] = {}
        self._waiting: dict[str, dict[str, int]] = {}

    def hear(self, event: Event) -> None:
        payload, step = event.payload, event.step
        match payload:
            case GateDecision():
                action = "failed" if payload.failed else payload.action
                self._hooks.add(payload.hook, payload.stage, action, seconds=payload.duration_ns / 1e9)
            case HookFailed():
                self._failed.add(payload.hook, payload.stage, payload.policy)
            case ToolExecEnd():
                outcome = payload.failure or ("cached" if payload.Cached else "ok")
                self._tools.add(payload.Tool, outcome, seconds=payload.Duration / 1e9)
            case ToolExecSkipped():
                self._skipped.add(payload.ErrorKind or "skipped")
            case _ if step is not None:
                self._hear_turn(payload, step, event.time_ns)
            case _:
                pass

    def _hear_turn(self, payload: Payload, step: Step, now: int) -> None:
        match payload:
            case LlmRequest():
                self._asked[step.turn_id] = now
            case LlmResponse():
                self._answered(step, "ok", now)
            case LlmRetry():
                self._retries.add(step.agent, payload.Reason)
            case ReplyEnded(usage=usage, stop=stop):
                # Of one that was answered nothing is left by now.
                self._answered(step, stop, now)
                if usage is not None:
                    self._tokens.add(step.agent, "input", amount=usage.prompt_tokens)
                    self._tokens.add(step.agent, "output", amount=usage.completion_tokens)
            case ApprovalRequested():
                self._waiting.setdefault(step.turn_id, {})[payload.id] = now
            case ApprovalDecided():
                began = self._waiting.get(step.turn_id, {}).pop(payload.id, now)
                outcome = "approved" if payload.approved else "refused"
                self._people.add(payload.tool, outcome, seconds=(now - began) / 1e9)
            case TurnEnd():
                self._asked.pop(step.turn_id, None)
                self._waiting.pop(step.turn_id, None)
                seconds = payload.Duration / 1e9
                self._turns.add(step.agent, step.chat.channel, payload.Status, seconds=seconds)
            case _:
                pass

    def _answered(self, step: Step, outcome: str, now: int) -> None:
        if (began := self._asked.pop(step.turn_id, None)) is not None:
            self._models.add(step.agent, step.model, outcome, seconds=(now - began) / 1e9)

    @property
    def families(self) -> Iterator[Family]:
        durations = (self._turns, self._models, self._tools, self._hooks, self._people)
        yield from (it.family for it in (*durations, self._retries, self._tokens, self._skipped, self._failed))
