"""Who changes the workspace now, and who waits for whom: what keeps it for itself is one at a time, first come
first served; whatever else may change it runs beside all others, and is told of them. Opens no file."""

from __future__ import annotations

from collections import deque

import trio

from hookgate.protocol.values import Access
from hookgate.tools.errors import ToolError

PATIENCE_S = 30.0
"""How long a call waits for its turn: a call that runs for minutes must not hold up other chats in silence."""


class Held:
    """One call's part in a lease, an async context manager; entering raises ToolError (transient), naming who has it,
    where the wait is too long. `may_change` the workspace, which it `keeps` for itself; `begun`: it waits no more.
    `alone`: no other chat's call that may change the workspace has run meanwhile.

    Every call passes one, so it is no generator: that would cost several times as much.
    """

    __slots__ = ("_lease", "alone", "begun", "chat", "keeps", "may_change", "name", "turn")

    def __init__(self, lease: Lease, access: Access, name: str, chat: str = "") -> None:
        self._lease, self.name, self.chat = lease, name, chat
        self.may_change, self.keeps = access in ("shared", "write"), access == "write"
        self.alone, self.begun = True, False
        self.turn: trio.Event | None = None

    async def __aenter__(self) -> Held:
        if self.keeps:
            await self._lease.acquire(self)
        elif self.may_change:
            self._lease.join(self)
        self.begun = True
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self.may_change:
            self._lease.leave(self)


class Lease:
    """Of one workspace. What only reads passes it by."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._running: list[Held] = []
        self._keeper: Held | None = None
        self._waiting: deque[Held] = deque()

    def join(self, call: Held) -> None:
        for other in self._running:
            if other.chat != call.chat:
                other.alone = call.alone = False
        self._running.append(call)

    async def acquire(self, call: Held) -> None:
        if self._keeper is not None:
            await self._wait(call)
        else:
            self._admit(call)

    def leave(self, call: Held) -> None:
        self._running.remove(call)
        if self._keeper is call:
            self._keeper = None
            if self._waiting:
                self._admit(self._waiting.popleft())

    async def _wait(self, call: Held) -> None:
        call.turn = trio.Event()
        self._waiting.append(call)
        try:
            with trio.move_on_after(self._patience_s):
                await call.turn.wait()
        except BaseException:
            self._give_up(call)
            raise
        if not call.turn.is_set():
            self._give_up(call)
            name = self._keeper.name if self._keeper is not None else "another call"
            raise ToolError("transient", call.name, f"the workspace has been in use by {name} for too long")

    def _give_up(self, call: Held) -> None:
        """It may have been admitted in the very moment in which it gave up."""
        if call in self._waiting:
            self._waiting.remove(call)
        else:
            self.leave(call)

    def _admit(self, call: Held) -> None:
        self.join(call)
        self._keeper = call
        if call.turn is not None:
            call.turn.set()
