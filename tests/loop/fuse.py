"""A journal at one of whose calls the process dies that has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import trio

from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Accepted, Arrival, Fenced


class Fuse:
    """The journal as one process has it: at one of its calls that process dies, before the call or right after."""

    def __init__(self, journal: Journal, die: Callable[[], None]) -> None:
        self.dead = False
        self.calls_left: int | None = None
        self.after = False
        self.accepted: list[tuple[Arrival, Accepted]] = []
        self._journal, self._die = journal, die

    def __getattr__(self, part: str) -> object:
        found = getattr(self._journal, part)
        return found if part == "cluster" else _Part(self, found)

    async def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        if self.dead:
            raise Fenced("this process is dead")
        dies = self.calls_left == 0
        self.calls_left = self.calls_left - 1 if self.calls_left else None
        if dies and not self.after:
            await self._end()
        result = await function(*arguments, **named)
        if isinstance(result, Accepted):
            self.accepted.append((arguments[0], result))
        if dies:
            await self._end()
        return result

    async def _end(self) -> None:
        self.dead = True
        self._die()
        await trio.lowlevel.checkpoint()
        raise Fenced("this process has just died, in a shield")


@dataclass
class _Part:
    fuse: Fuse
    part: object

    def __getattr__(self, name: str) -> object:
        call = getattr(self.part, name)
        # Who waits for a hint asks the journal nothing.
        return call if name in ("changed", "me") else partial(self.fuse.call, call)
