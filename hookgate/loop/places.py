"""The places of turns at work, and who gets the next one. Knows no turn.

Whoever waited longest does, but for who has half of them already while somebody else waits. A program never has the
last one, so that one that keeps them for long shuts nobody out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import trio

from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Holder:
    """`name`: of the person or the key; empty: nobody's, which is not counted."""

    name: str = ""
    program: bool = False


NOBODY = Holder()


@dataclass(frozen=True, eq=False)
class _Waiting:
    holder: Holder
    given: trio.Event


class Places:
    """`most` of them, of which `free` are nobody's now."""

    def __init__(self, most: int) -> None:
        self.most = self.free = most
        self._held = Counter[str]()
        self._queue: list[_Waiting] = []

    def of(self, holder: Holder) -> HeldPlaces:
        return HeldPlaces(self, holder)

    def acquire_nowait(self, holder: Holder) -> None:
        """Raises WouldBlock."""
        if not self.free or self._leaves_one(holder):
            raise trio.WouldBlock
        self._give(holder)

    async def acquire(self, holder: Holder = NOBODY) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        try:
            self.acquire_nowait(holder)
        except trio.WouldBlock:
            self._queue.append(waiting := _Waiting(holder, trio.Event()))
            try:
                await waiting.given.wait()
            except BaseException:
                # Whoever is cancelled may be given one before they hear of that.
                if waiting.given.is_set():
                    self.release(holder)
                else:
                    self._queue.remove(waiting)
                raise
        else:
            await trio.lowlevel.cancel_shielded_checkpoint()

    def release(self, holder: Holder) -> None:
        self.free += 1
        self._held[holder.name] -= 1
        if self._held[holder.name] <= 0:
            del self._held[holder.name]
        while self.free and (waiting := self._next()) is not None:
            self._queue.remove(waiting)
            self._give(waiting.holder)
            waiting.given.set()

    def _give(self, holder: Holder) -> None:
        self.free -= 1
        if holder.name:
            self._held[holder.name] += 1

    def _next(self) -> _Waiting | None:
        ready = [it for it in self._queue if not self._leaves_one(it.holder)]
        return next(self._below_half(ready), next(iter(ready), None))

    def _below_half(self, ready: list[_Waiting]) -> Iterator[_Waiting]:
        return (it for it in ready if self._held[it.holder.name] < (self.most + 1) // 2)

    def _leaves_one(self, holder: Holder) -> bool:
        return holder.program and self.most > 1 and self._held[holder.name] >= self.most - 1


@dataclass(frozen=True)
class HeldPlaces:
    """As one holder gets them."""

    places: Places
    holder: Holder

    def acquire_nowait(self) -> None:
        """Raises WouldBlock."""
        self.places.acquire_nowait(self.holder)

    async def acquire(self) -> None:
        await self.places.acquire(self.holder)

    def release(self) -> None:
        self.places.release(self.holder)
