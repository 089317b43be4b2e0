"""Calls that wait until people have decided: shown in their places, ended by a vote, by time or by a change.

What chats are told of it is stored with what it tells of. Does not know who may decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from math import inf

import trio

from hookgate.approvals.binding import Subject
from hookgate.approvals.decide import NOBODY, silence
from hookgate.approvals.places import Deciding, Place, outcome_told, reminders, show
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Standing, StoredRequest, Vote

STOPPED = "the turn was stopped"


@dataclass
class _Open:
    """A request that a call waits for. `changed`: why it is not the one any more that has to be asked."""

    stored: StoredRequest
    over: trio.Event = field(default_factory=trio.Event)
    changed: str = ""


class Waiting:
    """`clock`: seconds of the wall clock; `decide` is told what somebody presses, and about which request."""

    def __init__(self, journal: Journal, clock: Callable[[], float], decide: Callable[[str], Deciding]) -> None:
        self._decisions, self._posting = journal.decisions, journal.posting
        self._clock, self._decide = clock, decide
        self._open: dict[str, _Open] = {}

    def end(self, changed: Callable[[StoredRequest], str]) -> None:
        """Those that need not be asked any more: why; empty: it goes on."""
        for waiting in self._open.values():
            waiting.changed = waiting.changed or changed(waiting.stored)
            if waiting.changed:
                waiting.over.set()

    async def void_changed(self, request: str) -> None:
        """Nobody decides what is to be asked no more, and has not ended yet."""
        waiting = self._open.get(request)
        if waiting is not None and waiting.changed:
            await self.void(waiting.stored, waiting.changed)

    async def void(self, stored: StoredRequest, why: str) -> None:
        await self._decisions.void(stored.id, why, outcome_told(Standing(stored, "void", (), why)))

    async def vote(self, stored: StoredRequest, vote: Vote) -> Standing:
        """What the chats are told leaves where this decides it."""
        after = Standing(stored, "approved" if vote.approved else "refused", (vote,), vote.reason)
        standing = await self._decisions.decide(stored.id, vote, outcome_told(after))
        assert standing is not None  # noqa: S101 - requests are never deleted while a call waits
        if standing.state != "open" and stored.id in self._open:
            self._open[stored.id].over.set()
        return standing

    async def until_decided(self, subject: Subject, stored: StoredRequest, where: Collection[Place]) -> Standing:
        """Until it is decided, its time is over, or its rule has changed. Cancelled, it stays open for whoever takes
        the message up again, and is void with the message's end; a call that nobody takes up again leaves none."""
        waiting = self._open[stored.id] = _Open(stored)
        decided = False
        try:
            # Buttons that were shown before a restart work before the call has come this far again.
            meanwhile = await self._decisions.standing(stored.id)
            # What is decided already is shown nowhere any more.
            if meanwhile is None or meanwhile.state == "open":
                seconds = stored.expires_at - self._clock() if stored.expires_at else inf
                with trio.move_on_after(max(0.0, seconds)):
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(self._show, subject, stored, where)
                        await waiting.over.wait()
                        nursery.cancel_scope.cancel()
            # A yes that comes with the end of the turn, or of the conversation, is for nothing any more.
            await trio.lowlevel.checkpoint_if_cancelled()
            await self.void_changed(stored.id)
            # Of no effect where somebody has decided.
            standing = await self.vote(stored, Vote(NOBODY, False, silence(stored.shown)))
            decided = True
        finally:
            del self._open[stored.id]
            if not decided and not (stored.message and not subject.step.extension):
                with trio.CancelScope(shield=True):
                    await self.void(stored, STOPPED)
            for chat in (subject.step.chat, *stored.places):
                subject.wake(chat)
        return standing

    async def _show(self, subject: Subject, stored: StoredRequest, where: Collection[Place]) -> None:
        async with trio.open_nursery() as nursery:
            if stored.shown.terms.on_expiry == "wait":
                nursery.start_soon(self._remind, subject, stored)
            no = await show(stored.shown, where, self._decide(stored.id))
            if no is not None:
                await self.vote(stored, no)

    async def _remind(self, subject: Subject, stored: StoredRequest) -> None:
        """Once: it waits for ever."""
        await trio.sleep(stored.shown.ttl_s)
        await self._posting.post(subject.claim.conversation.agent, reminders(stored))
        for chat in stored.places:
            subject.wake(chat)
