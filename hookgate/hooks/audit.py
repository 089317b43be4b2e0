"""Audit hooks: asked like the others, on their own time; what they would have done is recorded, nothing more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

import structlog
import trio

from hookgate.hooks.rules import Mount
from hookgate.protocol.hook.stages import Question

log = structlog.get_logger("hookgate.hooks")

MAX_ASKED = 64
"""Questions in flight per audit hook; more are not asked, and counted."""


class Audits:
    """Questions for audit hooks; `put` never waits."""

    def __init__(self, ask: Callable[[Mount, Question], Awaitable[object]]) -> None:
        self._ask = ask
        self._send, self._receive = trio.open_memory_channel[tuple[Mount, Question]](1024)
        self._asked: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()

    def put(self, mount: Mount, question: Question) -> None:
        try:
            self._send.send_nowait((mount, question))
        except trio.WouldBlock:
            self._miss(mount.name)

    async def run(self) -> None:
        """Ask until cancelled; one slow hook delays no other."""
        async with trio.open_nursery() as nursery:
            async for mount, question in self._receive:
                if self._asked[mount.name] >= MAX_ASKED:
                    self._miss(mount.name)
                    continue
                self._asked[mount.name] += 1
                nursery.start_soon(self._ask_one, mount, question)

    async def _ask_one(self, mount: Mount, question: Question) -> None:
        try:
            await self._ask(mount, question)
        finally:
            self._asked[mount.name] -= 1

    def _miss(self, name: str) -> None:
        self.missed[name] += 1
        log.warning("audit_missed", hook=name, count=self.missed[name])
