"""How many turns are at work at once; a turn that waits for a person is none of them.

Turns that its calls have begun work on its place.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import field
from math import inf
from types import TracebackType
from typing import Protocol

import trio

from hookgate.loop.doors.doors import Doors
from hookgate.loop.doors.guests import Guests
from hookgate.loop.nested.clock import Clock
from hookgate.loop.places import HeldPlaces, Holder, Places
from hookgate.protocol.chat import Chat
from hookgate.protocol.chat.channel import ChannelPolicy
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.interfaces import Journal

MAX_TURNS = 8


@dataclass(frozen=True)
class Shared:
    """What all sessions of a gateway have in common: where they write, how many of them may work at once, and what
    people see of it in a channel, by its name. `idle_s`: a conversation that rests for so long is let go of. `doors`:
    who comes in; `guests` None: nobody is let in while it runs. `keyed`: channels
    whose people are keys."""

    journal: Journal
    slots: Places = field(default_factory=lambda: Places(MAX_TURNS))
    policy: Callable[[str], ChannelPolicy] = lambda _channel: ChannelPolicy()
    idle_s: float = inf
    doors: Doors = field(default_factory=Doors)
    guests: Guests | None = None
    keyed: tuple[str, ...] = ()

    def slots_of(self, chat: Chat) -> HeldPlaces:
        """As whoever says something there gets them."""
        return self.slots.of(Holder(chat.user, program=chat.channel in self.keyed))


class Slots(Protocol):
    def acquire_nowait(self) -> None:
        """Raises WouldBlock."""
        ...

    async def acquire(self) -> object: ...

    def release(self) -> None: ...


class Slot:
    """A turn's place among those at work, had while this is entered.

    Turns that its calls begin have it from the turn; it is given back while all of them wait. `clock` is theirs: it
    stands still meanwhile.
    """

    def __init__(self, slots: Slots, clock: Clock | None = None) -> None:
        self.clock = clock
        self._slots = slots
        self._held = False
        self._getting = trio.Lock()
        # Those that have it from this turn, and how many of them wait; in all, since the message came.
        self._lent = self._waiting = self._begun = 0
        self._places: trio.Semaphore | None = None

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
        with ExitStack() as stack:
            for clock in self._clocks():
                stack.enter_context(clock.standing_still())
            self._release()
            yield
            await self._acquire()

    # --- turns that work on it ---

    def begin(self, most: int) -> bool:
        """Count one more of those that the message has led to; False: there were so many already."""
        first = self
        while isinstance(first._slots, Slot):
            first = first._slots
        first._begun += 1
        return first._begun <= most

    @asynccontextmanager
    async def lent(self, most: int, seconds: float) -> AsyncGenerator[Slot]:
        """To a turn that a call of this one begins, when fewer than `most` have it; its clock begins then."""
        self._places = self._places or trio.Semaphore(most)
        async with self._places:
            # Those that have it may all be waiting.
            await self._acquire()
            self._lent += 1
            child = Slot(self, Clock(seconds))
            child._held = True
            try:
                yield child
            finally:
                self._lent -= 1
                self._waiting -= not child._held
                if self._lent:
                    self._release()
            if not self._lent:
                await self._acquire()

    def acquire_nowait(self) -> None:
        """For a turn that has it from this one. Raises WouldBlock."""
        if not self._held:
            raise trio.WouldBlock
        self._waiting -= 1

    async def acquire(self) -> None:
        self._waiting -= 1
        try:
            await self._acquire()
        except BaseException:
            self._waiting += 1
            raise

    def release(self) -> None:
        self._waiting += 1
        self._release()

    def _clocks(self) -> Iterator[Clock]:
        """Its own, and those of whoever waits for it."""
        if self.clock is not None:
            yield self.clock
        if isinstance(self._slots, Slot):
            yield from self._slots._clocks()

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
        if self._held and self._waiting == self._lent:
            self._held = False
            self._slots.release()
