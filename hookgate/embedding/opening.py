"""Opening embedded conversations: the runtime, and the first conversation in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog

from hookgate.assembly.app import open_runtime
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.logs.sinks import observer
from hookgate.assembly.settings import Ports, Settings
from hookgate.embedding.conversation import SeatChannel
from hookgate.embedding.conversations import Conversations, Enter
from hookgate.embedding.rpc_translator import HEARS
from hookgate.loop.sessions.jobs import Job, Prompt
from hookgate.protocol.events.event import Event
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.zot.surface import Surface


@asynccontextmanager
async def open_conversations(
    settings: Settings, name: str, enter: Enter, surface: Surface | None = None, journal: Journal | None = None
) -> AsyncGenerator[Conversations]:
    """Hooks started, nothing asked yet but what waits in the queues of those who have entered, and before it what the
    `journal` has that was cut off. Raises ConfigError and RequiredHookFailed.

    `name` is the channel that hooks and rules match; `surface` shows what extensions say to people. Leaving ends
    what runs, stops every hook process and closes every connection.
    """
    if not structlog.is_configured():
        # Its default writes to stdout, which is the embedding program's own.
        set_up_logs(settings.config.log)
    channel = SeatChannel(name)
    opened: list[Conversations] = []

    def hear(event: Event) -> None:
        for conversations in opened:
            conversations.hear(event)

    watching = observer("embedding", tuple(kind.kind for kind in HEARS), hear)
    surfaces = {name: surface} if surface is not None else {}
    cut_off = await journal.intake.unfinished() if journal is not None else ()
    ports = Ports((channel,), surfaces, (watching,), journal=journal, prompted=True)
    async with open_runtime(settings, ports) as runtime:
        conversations = Conversations(runtime, channel, enter)
        opened.append(conversations)
        for left in cut_off:
            # Before the gateway does, which tells nobody of it.
            conversation = conversations.of(left.inbound.chat)
            conversation.jobs.offer(Job(Prompt(left.inbound, left.accepted), conversation), resumed=True)
        # Nothing runs before whoever is given them has had his say: here nothing is waited for.
        yield conversations
