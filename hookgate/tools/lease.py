"""Who may use the workspace now: many readers or one writer, first come first served. Opens no file."""

from __future__ import annotations

from collections import deque

import trio

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Access
from hookgate.tools.errors import ToolError

PATIENCE_S = 30.0
"""How long a call waits for its turn: a command that runs for minutes must not hold up other chats in silence."""


@dataclass(slots=True, eq=False)
class _Holder:
    """`turn` is set when the lease is its own."""

    access: Access
    name: str
    turn: trio.Event | None = None


class _Held:
    """Every call passes one, so it is no generator: that would cost several times as much."""

    __slots__ = ("_holder", "_lease")

    def __init__(self, lease: Lease, holder: _Holder) -> None:
        self._lease, self._holder = lease, holder

    async def __aenter__(self) -> None:
        await self._lease.acquire(self._holder)

    async def __aexit__(self, *_error: object) -> None:
        self._lease.release(self._holder)


class Lease:
    """Held by a call while it runs. A waiting writer lets no later reader pass, so nobody starves."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._held: list[_Holder] = []
        self._waiting: deque[_Holder] = deque()

    def held(self, access: Access, name: str) -> _Held:
        """An async context manager. Raises ToolError (transient), naming who has it, where the wait is too long."""
        return _Held(self, _Holder(access, name))

    async def acquire(self, holder: _Holder) -> None:
        if holder.access != "none":
            await self._acquire(holder)

    def release(self, holder: _Holder) -> None:
        if holder.access != "none":
            self._leave(holder)

    async def _acquire(self, holder: _Holder) -> None:
        if not self._waiting and self._fits(holder):
            self._held.append(holder)
            return
        holder.turn = trio.Event()
        self._waiting.append(holder)
        try:
            with trio.move_on_after(self._patience_s):
                await holder.turn.wait()
        except BaseException:
            self._leave(holder)
            raise
        if not holder.turn.is_set():
            self._leave(holder)
            names = ", ".join(dict.fromkeys(it.name for it in self._held)) or "another call"
            raise ToolError("transient", holder.name, f"the workspace has been in use by {names} for too long")

    def _leave(self, holder: _Holder) -> None:
        """It may have been admitted in the very moment in which it gave up."""
        (self._held if holder in self._held else self._waiting).remove(holder)
        self._admit()

    def _fits(self, holder: _Holder) -> bool:
        return not self._held or (holder.access == "read" and all(it.access == "read" for it in self._held))

    def _admit(self) -> None:
        while self._waiting and self._fits(self._waiting[0]):
            holder = self._waiting.popleft()
            self._held.append(holder)
            assert holder.turn is not None  # noqa: S101 - it waits
            holder.turn.set()
