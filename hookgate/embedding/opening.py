"""Opening an embedded conversation: the runtime, and the one conversation in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog

from hookgate.assembly.app import open_runtime
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.logs.sinks import observer
from hookgate.assembly.settings import Ports, Settings
from hookgate.embedding.conversation import Conversation, Seat, SeatChannel
from hookgate.embedding.rpc_translator import HEARS
from hookgate.loop.sessions.jobs import Job, Jobs, Prompt
from hookgate.protocol.events.event import Event
from hookgate.protocol.journal.interfaces import Journal


@asynccontextmanager
async def open_conversation(
    settings: Settings, seat: Seat, jobs: Jobs, journal: Journal | None = None
) -> AsyncGenerator[Conversation]:
    """Hooks started, nothing asked yet but what waits in `jobs`, and before it what the `journal` has that was cut
    off. Raises ConfigError and RequiredHookFailed.

    Leaving ends what runs, stops every hook process and closes every connection.
    """
    if not structlog.is_configured():
        # Its default writes to stdout, which is the embedding program's own.
        set_up_logs(settings.config.log)
    channel = SeatChannel(seat)
    opened: list[Conversation] = []

    def hear(event: Event) -> None:
        for conversation in opened:
            conversation.hear(event)

    watching = observer("embedding", tuple(kind.kind for kind in HEARS), hear)
    surfaces = {seat.name: seat.surface} if seat.surface is not None else {}
    cut_off = await journal.intake.unfinished() if journal is not None else ()
    async with open_runtime(settings, Ports((channel,), surfaces, (watching,), journal=journal)) as runtime:
        conversation = Conversation(runtime, channel, jobs)
        opened.append(conversation)
        for left in cut_off:
            # Before the gateway does, which tells nobody of it.
            jobs.offer(Job(Prompt(left.inbound, left.accepted), conversation), resumed=True)
        if journal is not None:
            await conversation.recall()
        yield conversation
