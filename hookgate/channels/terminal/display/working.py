"""What works on an answer now, and a line for each call that has ended: heard from events.

Knows no terminal and no clock: whoever shows it says what time it is.
"""

from __future__ import annotations

from math import ceil

from hookgate.channels.calls import about
from hookgate.channels.printable import one_line
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import (
    CallDecided,
    CallEnded,
    CallWritten,
    CompactionBegan,
    CompactionEnded,
    ReplyEnded,
    StepBegan,
)
from hookgate.protocol.events.payloads import (
    ApprovalRequested,
    LlmRequest,
    LlmResponse,
    LlmRetry,
    Payload,
    ToolExecEnd,
    ToolExecStart,
    TurnEnd,
)
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import JsonObject, Step, bare_text
from hookgate.protocol.values.effects import ProcessEffect

QUIET_S = 0.4
"""What is over sooner is not worth a line."""
MAX_ABOUT, MAX_REASON = 60, 200
_KINDS: tuple[type[Payload], ...] = (
    *(StepBegan, LlmRequest, LlmRetry, LlmResponse, CallWritten, ReplyEnded, CompactionBegan, CompactionEnded),
    *(ApprovalRequested, ToolExecStart, CallDecided, ToolExecEnd, CallEnded, TurnEnd),
)
OBSERVED = tuple(kind.kind for kind in _KINDS)


@dataclass
class _Wait:
    """`quiet`: since when nothing has been seen of it; `until`: it begins again then, because of `why`, for the time
    that `tried` says. `asking`: what it was before a call came of it. `calls`: one is being written, or judged."""

    what: str
    since: float
    quiet: float
    until: float = 0.0
    why: str = ""
    tried: str = ""
    asking: str = ""
    calls: bool = False


@dataclass
class _Call:
    """`ns`: how long it took. `asked`: a person has said yes or no to it."""

    label: str = ""
    since: float = 0.0
    asked: bool = False
    running: bool = False
    ns: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """A call, as one line. `well`: it did what it should; `refused`: it never ran, since somebody was against it."""

    line: str
    well: bool
    refused: bool


class Working:
    """`channel`: by name, with one conversation. What tasks of other agents do in it is named by the agent."""

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._waits: dict[str, _Wait] = {}
        self._calls: dict[tuple[str, str], _Call] = {}

    def hear(self, event: Event) -> Ended | None:
        step, at = event.step, event.time_ns / 1e9
        if step is None or step.chat.channel != self._channel:
            return None
        match event.payload:
            case ToolExecStart(Tool=tool, Arguments=arguments, ToolCallID=id_):
                self._waits.pop(step.turn_id, None)
                call = self._calls.setdefault((step.turn_id, id_), _Call())
                call.label, call.since, call.running = _label(step, tool, arguments), at, True
            case CallDecided(call=decided):
                self._calls.setdefault((step.turn_id, decided.id), _Call()).asked = True
            case ToolExecEnd(ToolCallID=id_, Duration=ns) if (step.turn_id, id_) in self._calls:
                self._calls[step.turn_id, id_].ns = ns
            case CallEnded() as ended:
                return self._ended(step, ended)
            case TurnEnd():
                self._waits.pop(step.turn_id, None)
                self._calls = {key: call for key, call in self._calls.items() if key[0] != step.turn_id}
            case payload:
                self._wait(step, payload, at)
        return None

    def breaks_off(self, event: Event) -> bool:
        """Of the answer that streams nothing more comes: its turn was stopped, or has failed."""
        reply, step = event.payload, event.step
        here = step is not None and step.chat.channel == self._channel and not step.parent_turn_id
        return here and isinstance(reply, ReplyEnded) and reply.stop in ("aborted", "error")

    def wrote(self, at: float) -> None:
        """A piece of the answer is on the screen: that is a sign of life."""
        for wait in self._waits.values():
            wait.quiet = at

    def receives(self) -> None:
        """Pieces of the answer come, and go elsewhere."""
        for wait in self._waits.values():
            wait.asking, wait.what = wait.asking or wait.what, "receiving the answer"

    @property
    def busy(self) -> bool:
        return bool(self._waits) or any(it.running for it in self._calls.values())

    @property
    def calls(self) -> bool:
        """A call is written, judged or made: somebody may be asked about one yet."""
        return bool(self._calls) or any(it.calls for it in [*self._waits.values()])

    def lines(self, now: float) -> list[str]:
        """Each call that runs and whatever is waited for, as it is at this moment."""
        calls = (_line(it.label, _seconds(it.since, now)) for it in self._calls.values() if it.running)
        return [*calls, *(_waiting(it, now) for it in self._waits.values() if now - it.quiet >= QUIET_S)]

    def _wait(self, step: Step, payload: Payload, at: float) -> None:
        whose, turn = _whose(step), step.turn_id
        match payload:
            case StepBegan():
                self._waits[turn] = _Wait(f"{whose}hooks at {Stage.BEFORE_LLM}", at, at)
            case LlmRequest(Model=model):
                self._waits[turn] = _Wait(f"{whose}asking {model}", at, at)
            case LlmRetry(Attempt=tried, MaxRetries=most, Error=error, Backoff=ns) if turn in self._waits:
                wait = self._waits[turn]
                # What came of the try before is gone.
                wait.what, wait.tried, wait.calls = wait.asking or wait.what, f"retry {tried} of {most}", False
                wait.until, wait.why, wait.quiet = at + ns / 1e9, error, at - QUIET_S
            case CallWritten(piece=piece) if turn in self._waits:
                wait = self._waits[turn]
                wait.asking, wait.what = wait.asking or wait.what, f"{whose}writing a call of {piece.name}"
                wait.calls = True
            case LlmResponse():
                calls = turn in self._waits and self._waits[turn].calls
                self._waits[turn] = _Wait(f"{whose}hooks at {Stage.AFTER_LLM}", at, at, calls=calls)
            case ReplyEnded(stop="tool_use"):
                self._waits[turn] = _Wait(f"{whose}hooks at {Stage.BEFORE_TOOL}", at, at, calls=True)
            case CompactionBegan():
                self._waits[turn] = _Wait("summing up the conversation", at, at)
            # Hooks are done once a person is asked, whose time is no sign of life.
            case _:
                self._waits.pop(turn, None)

    def _ended(self, step: Step, ended: CallEnded) -> Ended:
        call = self._calls.pop((step.turn_id, ended.call.id), _Call())
        label = _label(step, ended.call.name, ended.call.arguments)
        well = ended.status == "completed"
        return Ended(
            _line(label, f"{_outcome(call, ended)}{', asked' if call.asked and well else ''}"),
            well,
            ended.status == "blocked",
        )


def _seconds(since: float, now: float) -> str:
    return f"{max(0, now - since):.0f} s"


def _waiting(wait: _Wait, now: float) -> str:
    if now < wait.until:
        return f"· {wait.what}: {wait.tried} in {ceil(wait.until - now)} s ({one_line(wait.why)[:MAX_REASON]})"
    return f"· {wait.what}{f', {wait.tried}' if wait.tried else ''} … {_seconds(wait.since, now)}"


def _whose(step: Step) -> str:
    """Of a task that another agent has, or of a call that an extension makes."""
    who = step.extension or (step.agent if step.parent_turn_id else "")
    return f"{one_line(who)}: " if who else ""


def _label(step: Step, name: str, arguments: JsonObject) -> str:
    lines = (" ".join(line.split()) for line in about(arguments).split("\n"))
    said = one_line(" \n ".join(filter(None, lines)))
    said = said if len(said) <= MAX_ABOUT else f"{said[: MAX_ABOUT - 1]}…"
    return f"{_whose(step)}{one_line(name)}{f': {said}' if said else ''}"


def _line(label: str, state: str) -> str:
    """One that was cut says so already."""
    return f"· {label} {state}" if label.endswith("…") else f"· {label} … {state}"


def _outcome(call: _Call, ended: CallEnded) -> str:
    took, outcome = f"{call.ns / 1e9:.1f} s " if call.ns is not None and ended.executed else "", ended.outcome
    why = outcome.error.reason if outcome.error is not None else bare_text(outcome)
    reason = one_line((why.strip().split("\n", 1))[0])[:MAX_REASON]
    match ended.status:
        case "completed":
            return "cached" if outcome.cached else f"{took}ok"
        case "blocked":
            return f"denied by {_by(outcome.error.denied_by if outcome.error else '')}: {reason}"
        case "cancelled":
            return f"{took}stopped" if ended.executed else "not run"
        case "timed_out":
            return f"{took}failed: it took too long"
        case _:
            exits = [it.exit_code for it in outcome.effects if isinstance(it, ProcessEffect) and it.exit_code]
            return f"{took}failed: {f'exit {exits[0]}' if exits else reason}"


def _by(denied_by: str) -> str:
    """A name, without what kind of thing it names."""
    kind, _, name = denied_by.partition(":")
    return one_line(name if kind in ("hook", "rule") and name else kind) or "hookgate"
