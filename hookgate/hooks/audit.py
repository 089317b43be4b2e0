"""Audit hooks: asked like the others, on their own time; what they would have done is recorded, nothing more."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Awaitable, Callable

import structlog
import trio

from hookgate.hooks.rules import Mount
from hookgate.protocol.hook.stages import Question

log = structlog.get_logger("hookgate.hooks")

MAX_ASKED = 64
"""Questions in flight per audit hook; more are not asked, and counted."""
MAX_WAITING = 1024
PAUSE_S = 0.02
"""A turn's questions come close together; so long the first waits for the others, so that they cost the turn neither
its tasks nor its writes."""


class Audits:
    """Questions for audit hooks; `put` never waits."""

    def __init__(self, ask: Callable[[Mount, Question], Awaitable[object]]) -> None:
        self._ask = ask
        self._waiting: deque[tuple[Mount, Question]] = deque()
        self._filled = trio.Event()
        self._urgent = trio.Event()
        self._asked: Counter[str] = Counter()
        self._starting = 0
        self._idle = trio.Event()
        self._runs = False
        self.missed: Counter[str] = Counter()

    def put(self, mount: Mount, question: Question) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self._miss(mount.name)
            return
        self._waiting.append((mount, question))
        self._filled.set()

    async def run(self) -> None:
        """Ask until cancelled; one slow hook delays no other."""
        self._runs = True
        try:
            async with trio.open_nursery() as nursery:
                while True:
                    await self._filled.wait()
                    with trio.move_on_after(PAUSE_S):
                        await self._urgent.wait()
                    self._filled, self._urgent = trio.Event(), trio.Event()
                    while self._waiting:
                        self._begin(nursery, *self._waiting.popleft())
        finally:
            self._runs = False

    async def flush(self) -> None:
        """What waits is asked now. On return each such question is in flight, answered or missed."""
        while self._runs and (self._waiting or self._starting):
            self._urgent.set()
            await trio.lowlevel.checkpoint()

    async def answered(self) -> None:
        """What waits is asked now. On return nothing is in flight."""
        await self.flush()
        while self._asked.total():
            await self._idle.wait()

    def _begin(self, nursery: trio.Nursery, mount: Mount, question: Question) -> None:
        if self._asked[mount.name] >= MAX_ASKED:
            self._miss(mount.name)
            return
        self._asked[mount.name] += 1
        self._starting += 1
        nursery.start_soon(self._ask_one, mount, question)

    async def _ask_one(self, mount: Mount, question: Question) -> None:
        self._starting -= 1
        try:
            await self._ask(mount, question)
        finally:
            self._asked[mount.name] -= 1
            if not self._asked.total():
                self._idle.set()
                self._idle = trio.Event()

    def _miss(self, name: str) -> None:
        self.missed[name] += 1
        log.warning("audit_missed", hook=name, count=self.missed[name])
