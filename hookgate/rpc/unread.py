"""Commands that ask what an earlier run has left: they wait until that is read, and what comes behind them too."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

import trio

from hookgate.protocol.rpc import commands
from hookgate.protocol.rpc.commands import Request
from hookgate.rpc.talk import Talk

if TYPE_CHECKING:
    from hookgate.embedding.past import Past

ASKS = commands.GetState | commands.GetMessages


class Unread:
    """`do` is what becomes of a command in its chat once it need not wait."""

    def __init__(self, do: Callable[[Request, Talk, commands.Command], None]) -> None:
        self._do = do
        self._put, self._waiting = trio.open_memory_channel[tuple[Request, Talk, commands.Command]](inf)
        self._count = 0
        self._answered = trio.Event()

    def take(self, request: Request, talk: Talk, command: commands.Command) -> None:
        """Done now, or in its turn."""
        if not talk.held and not (talk.unread and isinstance(command, ASKS)):
            self._do(request, talk, command)
            return
        talk.held += 1
        self._count += 1
        self._put.send_nowait((request, talk, command))

    async def run(self, past: Past | None) -> None:
        """Once what was kept can be read, until cancelled; None: nothing was."""
        async for request, talk, command in self._waiting:
            if talk.unread:
                await talk.read(past)
            talk.held -= 1
            self._count -= 1
            self._do(request, talk, command)
            self._answered.set()

    async def idle(self) -> None:
        """Until none waits."""
        while self._count:
            self._answered = trio.Event()
            await self._answered.wait()
