"""What hooks have said about a message, kept under its claim so that no crash has them asked the same again."""

from __future__ import annotations

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.answers import Answer
from hookgate.protocol.journal.interfaces import Journal, Work
from hookgate.protocol.journal.values import AnswerKey, Claim


@dataclass(frozen=True, slots=True)
class Answers:
    work: Work
    claim: Claim
    subject: str

    async def find(self, asked: AnswerKey) -> Answer | None:
        return await self.work.answer(asked)

    async def keep(self, asked: AnswerKey, answer: Answer) -> None:
        await self.work.answered(self.claim, asked, answer)


def answers_about(journal: Journal, claim: Claim, subject: str) -> Answers | None:
    """None: nobody asks again, since the journal does not outlive the process or the work is for no message."""
    return Answers(journal.work, claim, subject) if journal.outlives and claim.message else None
