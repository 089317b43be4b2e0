"""The right to write in the journal for a conversation, while something is done there. Knows no turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from hookgate.protocol.chat import Inbound
from hookgate.protocol.journal.values import Arrival, Fenced

if TYPE_CHECKING:
    from hookgate.protocol.chat import Chat
    from hookgate.protocol.journal.interfaces import Intake, Work
    from hookgate.protocol.journal.values import Claim, Conversation

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
