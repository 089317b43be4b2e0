"""The conversation that a session is in by now, and how a job comes to write there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookgate.loop.calls.client_calls import entering
from hookgate.loop.sessions.claims import LEASE_S, begin_anew
from hookgate.loop.sessions.jobs import Prompt
from hookgate.loop.sessions.transcript import Transcript
from hookgate.protocol.journal.values import Arrival, Conversation, ReadSoFar

if TYPE_CHECKING:
    from hookgate.loop.sessions.jobs import Compaction
    from hookgate.protocol.chat import Inbound
    from hookgate.protocol.journal.interfaces import Journal
    from hookgate.protocol.journal.values import Claim


class CurrentTranscript:
    """`transcript`: what was said there, as far as it has been loaded; another one as soon as somebody begins anew,
    or a stored message turns out to belong to a later conversation."""

    def __init__(self, journal: Journal, conversation: Conversation) -> None:
        self._journal, self._session = journal, conversation.session
        self._renewed = False
        self.go_to(conversation)

    def go_to(self, conversation: Conversation) -> None:
        self.transcript = Transcript(self._journal.work, conversation)

    def renew(self, conversation: Conversation | None) -> None:
        """Forget what was said. `conversation`: the next one, where a stored message has begun it; else the next job
        does."""
        self._renewed = conversation is None
        self.go_to(conversation or self.transcript.conversation)

    def recall(self, said: Transcript) -> None:
        """What somebody has read of it already, before anything is done here."""
        if not self._renewed:
            self.transcript.recall(said)

    async def claim(
        self, asked: Prompt | Compaction, agent: str, said: Inbound | None
    ) -> tuple[Transcript, Claim] | None:
        """What the job is written to, from here on by nobody else; `said` is the first of it. None where the message
        has ended, or somebody else has it."""
        work, before = self._journal.work, self.transcript
        conversation, message = await self._accepted(asked, agent)
        loaded = before.conversation == conversation and before.loaded
        transcript = before if loaded else Transcript(work, conversation)
        # Stored with the claim, where nothing else has been said meanwhile.
        enters = () if said is None or said.replaces else entering(transcript, said)
        claim = await work.claim(work.me, LEASE_S, conversation, message, ReadSoFar(transcript.fence, tuple(enters)))
        if claim is None:
            latest = await self._journal.intake.conversation(self._session, conversation.agent)
            if latest == conversation != before.conversation:
                self.go_to(conversation)
            return None
        await transcript.take(claim)
        # One that never held a word may have been passed over: by a new conversation that began before a crash.
        if claim.latest and self.transcript is before:
            self.transcript = transcript
        if said is not None and not (claim.first or claim.entered):
            if said.replaces:
                await transcript.rewind(said.replaces)
            await transcript.append(*entering(transcript, said))
        return transcript, claim

    async def _accepted(self, asked: Prompt | Compaction, agent: str) -> tuple[Conversation, str]:
        """Where it belongs, and the message's id; a message that no gateway has taken in is accepted now."""
        intake = self._journal.intake
        if self._renewed:
            await begin_anew(intake, asked.chat, agent)
        if isinstance(asked, Prompt):
            accepted = asked.accepted or await intake.accept(Arrival(asked.inbound, agent, ""))
            conversation, message = accepted.conversation, accepted.id
        else:
            conversation, message = await intake.conversation(self._session, agent), ""
        self._renewed = False
        return conversation, message
