"""A reply that comes in two halves, and a gateway whose chat shows the first while the second is awaited."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio

from hookgate.protocol.values import LLMReply, LLMRequest
from hookgate.providers.scripted import ScriptStep
from tests.loop.delivery.post import Board
from tests.loop.recording import Bench, Scripted


class Slow(Scripted):
    """Says the first half of a reply, and the rest when it is told to go on."""

    def __init__(self, *steps: ScriptStep) -> None:
        super().__init__([], *steps)
        self.go_on = trio.Event()

    async def complete(self, request: LLMRequest, on_text: Callable[[str], None]) -> LLMReply:
        reply = await super().complete(request, lambda _text: None)
        half = len(reply.content) // 2
        on_text(reply.content[:half])
        await self.go_on.wait()
        on_text(reply.content[half:])
        return reply


@asynccontextmanager
async def editing(
    bench: Callable[..., Bench], *steps: ScriptStep, **parts: Any
) -> AsyncGenerator[tuple[Bench, Board, Slow]]:
    """A gateway whose chat is a board."""
    provider, board = Slow(*steps), Board(edit_s=0.0)
    made = bench(providers={"p": provider}, room=board, **parts)
    async with made.opened():
        yield made, board, provider
