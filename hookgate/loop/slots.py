"""How many turns are at work at once; a turn that waits for a person is none of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from types import TracebackType

import trio

from hookgate.loop.doors.doors import Doors
from hookgate.loop.doors.guests import Guests
from hookgate.protocol.channel import ChannelPolicy
from hookgate.protocol.journal.interfaces import Journal

MAX_TURNS = 8


@dataclass(frozen=True)
class Shared:
    """What all sessions of a gateway have in common: where they write, how many of them may work at once, and what
    people see of it in a channel, by its name. `idle_s`: a conversation that rests for so long is let go of. `doors`:
    who comes in; `guests` None: nobody is let in while it runs."""

    journal: Journal
    slots: trio.Semaphore = field(default_factory=lambda: trio.Semaphore(MAX_TURNS))
    policy: Callable[[str], ChannelPolicy] = lambda _channel: ChannelPolicy()
    idle_s: float = inf
    doors: Doors = field(default_factory=Doors)
    guests: Guests | None = None


class Slot:
    """A turn's place among those at work, had while this is entered. Whoever waited longest gets the next."""

    def __init__(self, slots: trio.Semaphore) -> None:
        self._slots = slots
        self._held = False
        self._getting = trio.Lock()

    async def __aenter__(self) -> Slot:
        await self._acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    @asynccontextmanager
    async def given_back(self) -> AsyncGenerator[None]:
        """Others may work meanwhile; going on waits for a place again."""
        self._release()
        yield
        await self._acquire()

    async def _acquire(self) -> None:
        # A turn that finds a place free has begun, even where it is stopped already.
        if not self._held and not self._getting.locked():
            with suppress(trio.WouldBlock):
                self._slots.acquire_nowait()
                self._held = True
        if self._held:
            return
        # Several calls of one turn may come back at once: it has one place.
        async with self._getting:
            if not self._held:
                await self._slots.acquire()
                self._held = True

    def _release(self) -> None:
        if self._held:
            self._held = False
            self._slots.release()
