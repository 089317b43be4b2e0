"""In-process observers: the event log file, and the trace beside a conversation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, cast

import structlog

from hookgate.channels.printable import printable
from hookgate.config import ConfigError
from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import FailedOpen
from hookgate.protocol.events.payloads import (
    ApprovalDecided,
    GateDecision,
    HookFailed,
    HookState,
    LlmRequest,
    LlmResponse,
    LlmRetry,
    Payload,
    RegistryChanged,
    ToolExecEnd,
    ToolExecSkipped,
    ToolExecStart,
    ToolInjected,
)
from hookgate.protocol.hook.match import Observed
from hookgate.protocol.values import JsonObject

log = structlog.get_logger("hookgate.events")

EVERYTHING = ("*", "gate_decision")
FILED = (*EVERYTHING, "stage_call")


def open_event_file(path: Path) -> IO[bytes]:
    """Opened for appending, unbuffered: a crash loses no line. Raises ConfigError."""
    try:
        if path.is_fifo():
            raise ConfigError(f"--events {path}: a pipe that nobody reads would hold everything up")
        return open(path, "ab", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600))
    except OSError as error:
        raise ConfigError(f"--events {path}: {error.strerror}") from None


def event_file(file: IO[bytes]) -> Mount:
    """Every event, every gate decision and every stage call, one JSON object a line."""
    return observer("event file", FILED, _EventFile(file).append)


class _EventFile:
    """Says once when it cannot be written any more; what it misses then is missed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._lost = file, False

    def append(self, event: Event) -> None:
        if self._lost:
            return
        try:
            self._file.write(event.record)
        except OSError as error:
            self._lost = True
            log.error("event_file_lost", file=self._file.name, reason=error.strerror)


def trace(write: Callable[[str], None]) -> Mount:
    """A line for each model call, tool call and hook decision; `write` adds the line end."""
    return observer("trace", EVERYTHING, lambda event: _trace(write, event))


def warnings(write: Callable[[str], None]) -> Mount:
    """A line for a hook that fails and lets things through."""
    return observer("warnings", (FailedOpen.kind,), lambda event: _warn(write, event))


def _warn(write: Callable[[str], None], event: Event) -> None:
    if isinstance(it := event.payload, FailedOpen):
        often = f" ({it.times} failures since the last such line)" if it.times > 1 else ""
        write(f"! {it.hook} failed at {it.stage}: {it.reason}; {it.let_through} was let through{often}")


def observer(name: str, patterns: tuple[str, ...], hear: Callable[[Event], None]) -> Mount:
    return Mount(InsideHook(name, hear=hear), Rules(observe=Observed(patterns), inside=True))


def _trace(write: Callable[[str], None], event: Event) -> None:
    line = trace_line(event.payload)
    if line:
        step = event.step
        task = f"  in the task of agent {step.agent}" if step is not None and step.parent_turn_id else ""
        write(f"  | {printable(line)}{printable(task)}")


def trace_line(payload: Payload) -> str:
    """Empty for what the trace leaves out."""
    match payload:
        case GateDecision(failed=True, audit=None):
            # HookFailed says it better: what the policy makes of a failure is not what the hook decided.
            return ""
        case GateDecision():
            return _decision(payload)
        case LlmRequest():
            return f"model call   {payload.Model}  {payload.MessagesCount} messages, {payload.ToolsCount} tools"
        case LlmResponse(ContentLen=length, ToolCalls=calls):
            asks = f", asks for {calls} tool call{'s' if calls > 1 else ''}" if calls else ""
            return f"model answer {length} characters{asks}"
        case LlmRetry():
            again = f"retry {payload.Attempt} of {payload.MaxRetries} in {payload.Backoff / 1e9:.1f} s"
            return f"model call   failed ({payload.Reason}), {again}: {payload.Error}"
        case ToolExecStart(Decode=decode) if decode is not None:
            return f"arguments    {payload.Tool}  {_repairs(decode)}"
        case ToolExecEnd():
            return f"tool         {payload.Tool}  {_outcome(payload)}{_effects(payload.Effects or ())}"
        case ToolExecSkipped():
            return f"tool         {payload.Tool}  not run: {_first_line(payload.Reason)}"
        case _:
            return _rest(payload)


def _rest(payload: Payload) -> str:
    match payload:
        case ToolInjected(hook=hook, tool=tool):
            return f"{'':<12} {hook}  added the tool {tool}"
        case HookFailed():
            passed = f": {payload.let_through} was let through" if payload.let_through else ""
            return f"{payload.stage:<12} {payload.hook}  FAILED: {payload.reason} -> {payload.policy}{passed}"
        case HookState(state="restarting" | "quarantined"):
            return f"hook         {payload.hook}  {payload.state}: {payload.reason}"
        case RegistryChanged():
            changes = [*(f"+{name}" for name in payload.added), *(f"-{name}" for name in payload.removed)]
            return f"tools        version {payload.version}: {', '.join(changes) or 'changed'}"
        case ApprovalDecided():
            return f"approval     {payload.tool}  {'given' if payload.approved else 'refused'} by {payload.by}"
        case _:
            return ""


def _repairs(decode: JsonObject) -> str:
    steps = ", ".join(str(step) for step in cast("Sequence[object]", decode.get("steps") or ()))
    marks = [name for name in ("truncated", "guessed") if decode.get(name)]
    return f"repaired: {', '.join(filter(None, [steps, *marks]))}"


def _outcome(payload: ToolExecEnd) -> str:
    took = f"in {payload.Duration / 1e6:.1f} ms"
    if payload.Stopped:
        return f"stopped {took}"
    if payload.Cached:
        return f"cached {took}"
    return f"failed ({payload.ErrorKind or 'unknown'}) {took}" if payload.IsError else f"done {took}"


def _effects(effects: Sequence[Mapping[str, object]]) -> str:
    """A few words for each: `modify a.txt`, `exit 0`."""
    words = [text for effect in effects if (text := _effect(effect))]
    more = f", {len(words) - _SHOWN_EFFECTS} more" if len(words) > _SHOWN_EFFECTS else ""
    return f"  [{', '.join(words[:_SHOWN_EFFECTS])}{more}]" if words else ""


_SHOWN_EFFECTS = 5


def _effect(effect: Mapping[str, object]) -> str:
    match effect.get("kind"):
        case "file":
            size = effect.get("bytes_after")
            return f"{effect['op']} {effect['path']}" + (f" ({size} bytes)" if size is not None else "")
        case "process" if effect.get("background"):
            return f"background {effect.get('process_id')}"
        case "process":
            return f"exit {effect.get('exit_code')}"
        case "net":
            return f"{effect['method']} {effect['host']}"
        case _:
            return ""


def _decision(payload: GateDecision) -> str:
    tool = f" [{payload.tool}]" if payload.tool else ""
    audit = " (audit only)" if payload.audit else ""
    reason = f"  {_first_line(payload.reason)}" if payload.reason else ""
    took = f"{payload.duration_ns / 1e6:.1f} ms"
    return f"{payload.stage:<12} {payload.hook}{tool}  {payload.action}{audit}  {took}{reason}"


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:200]
