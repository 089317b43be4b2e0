"""What an agent says about a task that a call has given it, stored as a part of what answers the call's message."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from hookgate.loop.sessions.transcript import Transcript
from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.values import Claim, Conversation, Draft, Entry
from hookgate.protocol.values import Message

if TYPE_CHECKING:
    from hookgate.protocol.journal.audit import CallAudit
    from hookgate.protocol.journal.interfaces import Journal
    from hookgate.protocol.journal.values import Outcome


class TaskTranscript(Transcript):
    """The whole conversation is one turn, however often a crash has cut it off. `claim`: of the message, which is
    answered by whoever has given the task, and whose turn has come further whenever this one has."""

    def __init__(self, journal: Journal, conversation: Conversation, claim: Claim) -> None:
        super().__init__(journal.work, conversation)
        self._message = claim
        self._outlives = journal.outlives
        self._moved = False

    @property
    def answer(self) -> str | None:
        """What the task has come to, where it was answered before a crash."""
        last = self.entries[-1] if self.entries else None
        ended = last is not None and last.message.role == "assistant" and not last.message.tool_calls
        return last.message.content if last is not None and ended and last.shown is None else None

    async def take(self, claim: Claim) -> None:
        message = self._message
        await super().take(replace(claim, message=message.message, inbound=message.inbound, first=1))

    async def append(
        self, *drafts: Draft, outbox: Sequence[Outbound] = (), audits: Sequence[CallAudit] = ()
    ) -> tuple[Entry, ...]:
        entries = await super().append(*drafts, outbox=outbox, audits=audits)
        if not self._moved:
            # A claim that dies is an attempt only where nothing was stored under it.
            await self.work.append(self._message, ())
            self._moved = True
        return entries

    async def end(
        self,
        outcome: Outcome,
        *messages: Message,
        outbox: Sequence[Outbound] = (),
        handed_over: Container[str] = (),
        why: str = "",
    ) -> None:
        """The message goes on, so nothing ends but this; the call's result says `why`."""
        await self.append(*self._last(messages, handed_over), outbox=outbox, audits=tuple(self.cut_off))
        self._forget_cut_off()
        if not self._outlives:
            # Nobody comes back to it.
            await self.work.rewind(self.held, 1)
        await self.release()
