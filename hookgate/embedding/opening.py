"""Opening what an embedded conversation needs: providers with literal keys, the runtime, the conversation in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from hookgate.assembly.app import Setup, open_provider, open_runtime
from hookgate.assembly.extensions.extensions import ExtensionFlags
from hookgate.assembly.logs import set_up_logs
from hookgate.assembly.sinks import observer
from hookgate.embedding.conversation import Conversation, Seat, SeatChannel
from hookgate.embedding.rpc_translator import HEARS
from hookgate.embedding.settings import Opening
from hookgate.loop.jobs import Jobs
from hookgate.protocol.events import Event


def _extensions(opening: Opening) -> ExtensionFlags | None:
    found = opening.find_extensions
    # There is nobody to ask: what a program looks for, it wants.
    flags = ExtensionFlags(opening.extensions, found, found, trusting=True)
    return flags if found or opening.extensions else None


@asynccontextmanager
async def open_conversation(opening: Opening, seat: Seat, jobs: Jobs) -> AsyncGenerator[Conversation]:
    """Hooks started, nothing asked yet but what waits in `jobs`. Raises ConfigError and RequiredHookFailed.

    Leaving ends what runs, stops every hook process and closes every connection.
    """
    if not structlog.is_configured():
        # Its default writes to stdout, which is the embedding program's own.
        set_up_logs(opening.config.log)
    channel = SeatChannel(seat)
    opened: list[Conversation] = []

    def hear(event: Event) -> None:
        for conversation in opened:
            conversation.hear(event)

    async with AsyncExitStack() as stack:
        providers = {
            name: await open_provider(stack, name, opening.config.providers[name], opening.base, key)
            for name, key in opening.keys.items()
        }
        watching = observer("embedding", tuple(kind.kind for kind in HEARS), hear)
        setup = Setup(
            opening.config,
            opening.base,
            (channel,),
            (watching,),
            providers,
            opening.file,
            secrets=tuple(opening.keys.values()),
            extensions=_extensions(opening),
            surfaces={seat.name: seat.surface} if seat.surface is not None else {},
            functions=opening.functions,
            skills=opening.skills,
            context_files=opening.context_files,
        )
        runtime = await stack.enter_async_context(open_runtime(setup))
        opened.append(Conversation(runtime, opening, channel, jobs))
        yield opened[0]
