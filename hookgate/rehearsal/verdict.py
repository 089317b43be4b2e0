"""What a hook's answer counts for at the gate, as a value that can be shown and compared. Pure.

The rules are the gate's own (`hooks/decision.py`); here they are applied to one hook alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff
from typing import Literal, cast

from hookgate.hooks import decision
from hookgate.hooks.rules import Rules
from hookgate.protocol.codec import decode, encode, indented
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.answers import (
    Abort,
    Answer,
    Ask,
    Continue,
    Deny,
    Drop,
    Failed,
    Modify,
    Refuse,
    ReplyWith,
    Respond,
)
from hookgate.protocol.hook.said import answer_members
from hookgate.protocol.hook.stages import Question, Subject, subject_members
from hookgate.protocol.values import Finished, Json

Decision = Literal["allowed", "changed", "answered", "asked", "denied", "unanswered"]
"""`unanswered`: a call of the hook's own tool, which fails where it does not respond."""
HELD: frozenset[Decision] = frozenset(("asked", "denied"))
"""What does not go on by itself."""


@dataclass(frozen=True)
class Verdict:
    """`answer`: as it counts, after the failure policy where the hook has `failed`, which then says why. `after`:
    what the next hook would see. `unasked`: why the gate would not ask this hook at all. `owned`: it was the call of
    a tool of its own."""

    decision: Decision
    answer: Answer
    before: Subject
    after: Subject
    failed: str = ""
    unasked: str = ""
    owned: bool = False
    model_reads: str = ""
    """Where it left that call unanswered."""

    @property
    def reason(self) -> str:
        return getattr(self.answer, "reason", "")

    @property
    def said(self) -> dict[str, Json]:
        return as_json(answer_members(self.answer))

    @property
    def ignored(self) -> tuple[str, ...]:
        """Members that came beside `continue` and have no effect."""
        return self.answer.ignored if isinstance(self.answer, Continue) else ()

    @property
    def patch(self) -> tuple[str, ...]:
        """A diff of what it was asked about and what it leaves; empty where that is the same."""
        return tuple(_difference(_lines(self.before), _lines(self.after)))


def judge(name: str, rules: Rules, question: Question, answer: Answer) -> Verdict:
    """What the gate makes of the answer that a hook gave to a question that it was asked."""
    before = after = question.subject
    answer, failed = _settled(name, rules, question, answer)
    if isinstance(answer, Modify):
        try:
            after = decision.modified(before, answer.changes, decision.Author(name, rules.may_modify))[0]
        except ValueError as error:
            answer, failed = _settled(name, rules, question, Failed(str(error)))
    if isinstance(answer, Deny) and isinstance(before, Finished):
        after = decision.withheld(before, name, answer.reason)
    return Verdict(decided(answer, changed=after != before), answer, before, after, failed)


def judge_owned(name: str, rules: Rules, question: Question, answer: Answer) -> Verdict:
    """Of the call of the hook's own tool: only its response runs it, so nothing is let through."""
    before = question.subject
    answer, failed = _settled(name, rules, question, answer)
    decided_so, model_reads = decided(answer, changed=False), ""
    if decided_so == "allowed":
        decided_so, model_reads = "unanswered", decision.not_responded(name).for_llm
    return Verdict(decided_so, answer, before, before, failed, owned=True, model_reads=model_reads)


def _settled(name: str, rules: Rules, question: Question, answer: Answer) -> tuple[Answer, str]:
    """What it counts for, and why it is a failure; empty: it is none."""
    answer = decision.allowed_at(question.stage, answer)
    if not isinstance(answer, Failed):
        return answer, ""
    return decision.settled(name, question.stage, answer, rules.met(question.stage, answer)), answer.reason


def unasked(question: Question, why: str) -> Verdict:
    """Where the hook does not stand in the way."""
    return Verdict("allowed", Continue(), question.subject, question.subject, unasked=why)


def unasked_owner(name: str, question: Question) -> Verdict:
    """Of the call of its own tool where it does not stand at before_tool: nobody can run it."""
    before, reads = question.subject, decision.not_asked(name).for_llm
    return Verdict("unanswered", Continue(), before, before, owned=True, model_reads=reads)


def decided(answer: Answer, *, changed: bool) -> Decision:
    match answer:
        case Deny() | Refuse() | Drop() | Abort() | Failed():
            return "denied"
        case Ask():
            return "asked"
        case Respond() | ReplyWith():
            return "answered"
        case _:
            return "changed" if changed else "allowed"


def as_json(value: object) -> dict[str, Json]:
    return cast("dict[str, Json]", decode(encode(value)))


def _lines(subject: Subject) -> list[str]:
    members = subject_members(subject)
    if isinstance(subject, Finished):
        members = {"result": members["result"]}
    return indented(as_json(members)).decode().splitlines()


def _difference(before: Sequence[str], after: Sequence[str]) -> Sequence[str]:
    return [] if before == after else list(unified_diff(before, after, "asked", "left", lineterm=""))
