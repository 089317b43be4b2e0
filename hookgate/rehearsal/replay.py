"""A hook asked again what was recorded, one call after the other, and what it decides differently. Prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, cast

from hookgate.hooks.children.mounts import Plan
from hookgate.protocol.chat import ChatMessage
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.stages import Question, subject_members
from hookgate.protocol.values import Finished, Json, LLMReply
from hookgate.rehearsal.recording import Broken, Recorded
from hookgate.rehearsal.subject import Subject, Telling, TimedVerdict, open_subject
from hookgate.rehearsal.verdict import HELD, Decision, as_json, unasked

MOST_IN_A_ROW = 5
"""So many calls without a usable answer, one after the other, and the rest is not asked."""


@dataclass(frozen=True)
class Outcome:
    """What an answer comes to: `detail` is what it changes, gives instead or says."""

    decision: Decision
    detail: Mapping[str, Json]

    @property
    def reason(self) -> str:
        return str(self.detail.get("reason", ""))

    @property
    def error(self) -> bool:
        """It is answered with a failure: as with a denial, nothing is had of the call."""
        result = self.detail.get("result")
        return isinstance(result, Mapping) and result.get("is_error") is True


@dataclass(frozen=True)
class Difference:
    """`failed`: why the hook gave no usable answer this time; `unasked`: why it would not be asked any more."""

    recorded: Recorded
    before: Outcome
    after: Outcome
    failed: str = ""
    unasked: str = ""

    @property
    def looser(self) -> bool:
        """What was denied, asked about, or answered without being run, goes on now. Of a tool that the hook brings
        a recording does not say that it had it: another hook's of the same name would run."""
        if self.before.decision == "answered":
            return self.after.decision in ("allowed", "changed")
        return self.before.decision in HELD and self.after.decision not in HELD and not self.after.error

    @property
    def uncertain(self) -> bool:
        """It goes on where the tool is not the hook's own, and fails where it is."""
        return self.looser and self.after.decision == "unanswered"


@dataclass(frozen=True)
class Gone:
    """The hook ended, or could not be started, at this line; empty `why`: it gave too few usable answers."""

    line: int
    why: str


@dataclass
class Tally:
    asked: int = 0
    different: int = 0
    looser: int = 0
    failed: int = 0
    gone: int = 0
    broken: int = 0
    redacted: int = 0
    left: int = 0
    """Calls that were not asked about, since the hook was given up."""


Deviation = Difference | Gone | Broken


@dataclass
class Replay:
    """`of`: the hook whose recorded calls are asked again; `tell` hears of each difference, as it comes."""

    plan: Plan
    of: str
    tell: Callable[[Deviation], None]
    telling: Telling
    taken: frozenset[str] = frozenset()
    tally: Tally = field(default_factory=Tally)
    _in_a_row: int = 0

    async def run(self, lines: Iterable[Recorded | Broken]) -> Tally:
        """Through to the end. One that dies is started again, as in a gateway, until it is given up. Raises OSError
        of whatever the lines come from."""
        calls = self._calls(lines)
        while self._in_a_row < MOST_IN_A_ROW and (first := next(calls, None)) is not None:
            async with open_subject(self.plan, self.telling, self.taken) as subject:
                if subject.absent:
                    self._gone(first, subject.absent)
                    self._in_a_row = MOST_IN_A_ROW
                    self.tally.left += 1
                else:
                    await self._ask_all(subject, first, calls)
        self.tally.left += sum(1 for _ in calls)
        return self.tally

    def _calls(self, lines: Iterable[Recorded | Broken]) -> Iterator[Recorded]:
        for line in lines:
            if isinstance(line, Broken):
                self.tally.broken += 1
                self.tell(line)
            elif line.hook == self.of:
                yield line

    async def _ask_all(self, subject: Subject, first: Recorded, calls: Iterator[Recorded]) -> None:
        """Until the process ends, nothing is left, or it is given up."""
        recorded: Recorded | None = first
        while recorded is not None:
            self._compare(recorded, await self._asked(subject, recorded))
            if subject.gone:
                self._gone(recorded, subject.gone)
                return
            if self._in_a_row == MOST_IN_A_ROW:
                self._gone(recorded, f"{MOST_IN_A_ROW} calls in a row had no usable answer")
                return
            recorded = next(calls, None)

    async def _asked(self, subject: Subject, recorded: Recorded) -> TimedVerdict:
        """A hook whose answers count no more lets pass what it held; what it was only audited about is compared."""
        if (mode := self.plan.rules.mode) != "enforce" and not recorded.audit:
            return TimedVerdict(unasked(recorded.question, f'its mode is "{mode}": nothing that it says counts'))
        return await subject.ask(recorded.question)

    def _gone(self, recorded: Recorded, why: str) -> None:
        self.tally.gone += 1
        self.tell(Gone(recorded.line, why))

    def _compare(self, recorded: Recorded, asked: TimedVerdict) -> None:
        tally, verdict = self.tally, asked.verdict
        tally.asked += 1
        tally.redacted += recorded.redacted
        tally.failed += bool(verdict.failed)
        self._in_a_row = self._in_a_row + 1 if verdict.failed else 0
        before, after = (
            outcome(recorded.question, said, owned=verdict.owned) for said in (recorded.answer, verdict.said)
        )
        if before == after and not (verdict.failed and not recorded.failed):
            return
        difference = Difference(recorded, before, after, verdict.failed, verdict.unasked)
        tally.different += 1
        tally.looser += difference.looser
        self.tell(difference)


def outcome(question: Question, said: Mapping[str, Any], *, owned: bool = False) -> Outcome:
    """Of an answer's members, as a record has them. `owned`: to the call of a tool of the hook's own."""
    rest = {name: value for name, value in said.items() if name != "action"}
    match said:
        case {"action": "continue" | "modify"} if owned:
            return Outcome("unanswered", {})
        case {"action": "continue" | "approve"}:
            return Outcome("allowed", {})
        case {"action": "modify", "changes": {**changes}}:
            known = _members(question)
            really = {name: value for name, value in changes.items() if known.get(name) != value}
            return Outcome("changed" if really else "allowed", really)
        case {"action": "respond"}:
            return Outcome("answered", rest)
        case {"action": "ask"}:
            return Outcome("asked", rest)
        case {"action": "abort_turn" | "hard_abort" as action}:
            # What else the turn would do ends with it.
            return Outcome("denied", {**rest, "by": action})
        case _:
            return Outcome("denied", rest)


def _members(question: Question) -> Mapping[str, Json]:
    """What a change can name, as it was."""
    members: Mapping[str, Any] = as_json(subject_members(question.subject))
    match question.subject:
        case ChatMessage():
            return cast("Mapping[str, Json]", members["message"])
        case LLMReply():
            return cast("Mapping[str, Json]", members["response"])
        case Finished():
            return cast("Mapping[str, Json]", members["result"])
        case _:
            return members
