"""The right to write in the journal for a conversation, while something is done there. Knows no turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from hookgate.loop.sessions.jobs import Prompt
from hookgate.loop.sessions.transcript import Transcript
from hookgate.protocol.chat import Inbound
from hookgate.protocol.journal.values import Arrival, Fenced, Known

if TYPE_CHECKING:
    from hookgate.loop.sessions.jobs import Compaction
    from hookgate.protocol.chat import Chat
    from hookgate.protocol.journal.interfaces import Intake, Work
    from hookgate.protocol.journal.values import Claim, Conversation, Draft

LEASE_S = 60.0


@asynccontextmanager
async def open_claim(work: Work, conversation: Conversation) -> AsyncGenerator[Claim]:
    """For work that no message has asked for. Raises Fenced where somebody has it."""
    claim = await work.claim(work.me, LEASE_S, conversation)
    if claim is None:
        raise Fenced(conversation.id)
    try:
        yield claim
    finally:
        with trio.CancelScope(shield=True):
            await work.release(claim)


async def begin_anew(intake: Intake, chat: Chat, agent: str) -> None:
    """The next conversation there, though no message says so."""
    began = await intake.accept(Arrival(Inbound(chat, ""), agent, "", kind="command", effect="new"))
    await intake.settle(began.id, "answered")


async def accepted_for(
    intake: Intake, work: Prompt | Compaction, home: Conversation, *, anew: bool
) -> tuple[Conversation, str]:
    """Where it belongs, and the message's id; a message that no gateway has taken in is accepted now. `anew`: in the
    next conversation there."""
    if anew:
        await begin_anew(intake, work.chat, home.agent)
    if not isinstance(work, Prompt):
        return await intake.conversation(home.session, home.agent), ""
    accepted = work.accepted or await intake.accept(Arrival(work.inbound, home.agent, ""))
    return accepted.conversation, accepted.id


async def taken_up(
    work: Work,
    known: Transcript,
    conversation: Conversation,
    message: str,
    enters: Callable[[Transcript], Iterable[Draft]],
) -> tuple[Transcript, Claim] | None:
    """The conversation's transcript, written from here on by nobody else: the one that is known, where it is of this
    conversation. `enters`: what is said there first, which is stored with the claim where nothing else has been said
    meanwhile. None: the message has ended, or somebody else has it."""
    loaded = known.conversation == conversation and known.loaded
    transcript = known if loaded else Transcript(work, conversation)
    reading = Known(transcript.fence, tuple(enters(transcript)))
    claim = await work.claim(work.me, LEASE_S, conversation, message, reading)
    if claim is None:
        return None
    await transcript.take(claim)
    return transcript, claim
