"""Calls that wait until people have decided: ended by a vote, by time, by a change, or where nobody can be asked.

What chats are told of it is stored with what it tells of, cards too: here somebody is asked only where they answer in
place. Does not know who may decide.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import field
from math import inf

import structlog
import trio

from hookgate.approvals.binding import Subject
from hookgate.approvals.decide import NOBODY, silence
from hookgate.approvals.people import requester
from hookgate.approvals.places import Recipient
from hookgate.approvals.telling import outcome_told, reminders
from hookgate.protocol.approval import CannotAsk, Decision, Outcome, Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.interfaces import AskingChannel
from hookgate.protocol.journal.cluster import DECIDED, UNSEEN, Note
from hookgate.protocol.journal.decisions import Standing, StoredRequest, Vote
from hookgate.protocol.journal.interfaces import Journal

log = structlog.get_logger("hookgate.approvals")

Deciding = Callable[[Decision, Voter], Awaitable[Outcome]]
STOPPED = "the turn was stopped"


@dataclass
class _Open:
    """A request that a call waits for. `changed`: why it is not the one any more that has to be asked. `failed`: the
    noes of places that could not ask; `stirred`: there may be another one; `no`: the one that counts where all
    have."""

    stored: StoredRequest
    subject: Subject
    over: trio.Event = field(default_factory=trio.Event)
    changed: str = ""
    failed: list[Vote] = field(default_factory=list[Vote])
    stirred: trio.Event = field(default_factory=trio.Event)
    no: Vote | None = None

    def wake(self) -> None:
        """Something for its chats has been stored."""
        for chat in (self.subject.step.chat, *self.stored.places):
            self.subject.wake(chat)


class Waiting:
    """`clock`: seconds of the wall clock; `decide` is told what somebody presses, and about which request."""

    def __init__(self, journal: Journal, clock: Callable[[], float], decide: Callable[[str], Deciding]) -> None:
        self._decisions, self._posting, self._cluster = journal.decisions, journal.posting, journal.cluster
        for kind in (DECIDED, UNSEEN):
            self._cluster.hear(kind, self._heard)
        self._cluster.follow("requests", self._look)
        self._clock, self._decide = clock, decide
        self._open: dict[str, _Open] = {}

    def end(self, changed: Callable[[StoredRequest], str]) -> None:
        """Those that need not be asked any more: why; empty: it goes on."""
        for waiting in self._open.values():
            waiting.changed = waiting.changed or changed(waiting.stored)
            if waiting.changed:
                waiting.over.set()

    def shows_other(self, stored: StoredRequest, files: str | None, why: str) -> bool:
        """Whether somebody was shown other files there than the call is bound to; then it is over, and asked anew."""
        waiting = self._open.get(stored.id)
        if files is None or waiting is None or files == waiting.subject.files:
            return False
        self.end(lambda it: why if it.id == stored.id else "")
        return True

    def look_at(self, request: str) -> None:
        """One of its cards was given up here: whoever waits may be another gateway."""
        self._tell(Note(UNSEEN, body={"request": request}))

    async def void_changed(self, request: str) -> None:
        """Nobody decides what is to be asked no more, and has not ended yet."""
        waiting = self._open.get(request)
        if waiting is not None and waiting.changed:
            await self.void(waiting.stored, waiting.changed)

    async def void(self, stored: StoredRequest, why: str) -> None:
        await self._decisions.void(stored.id, why, outcome_told(Standing(stored, "void", (), why)))

    async def vote(self, stored: StoredRequest, vote: Vote, *, seen: bool = False) -> Standing:
        """What the chats are told leaves where this decides it. `seen`: in the chat that asks."""
        after = Standing(stored, "approved" if vote.approved else "refused", (vote,))
        standing = await self._decisions.decide(stored.id, vote, outcome_told(after, seen=seen))
        assert standing is not None  # noqa: S101 - requests are never deleted while a call waits
        if (waiting := self._open.get(stored.id)) is not None:
            waiting.wake()
        if standing.state != "open":
            self._tell(Note(DECIDED, body={"request": stored.id}))
        return standing

    def _tell(self, note: Note) -> None:
        self._heard(note)
        self._cluster.tell(note)

    def _heard(self, note: Note) -> None:
        """Here or elsewhere."""
        if (waiting := self._open.get(str(note.body["request"]))) is not None:
            (waiting.over if note.kind == DECIDED else waiting.stirred).set()

    async def _look(self) -> None:
        """Elsewhere, and nobody has heard of it. Raises StoreFailed."""
        waiting = dict(self._open)
        if not waiting:
            return
        still = await self._decisions.still_open()
        for id_, it in waiting.items():
            if id_ not in still:
                it.over.set()
            elif still[id_]:
                it.stirred.set()

    async def until_decided(self, subject: Subject, stored: StoredRequest, where: Collection[Recipient]) -> Standing:
        """Until it is decided, its time is over, or its rule has changed. Cancelled, it stays open for whoever takes
        the message up again, and is void with the message's end; a call that nobody takes up again leaves none."""
        waiting = self._open[stored.id] = _Open(stored, subject)
        standing: Standing | None = None
        try:
            # Buttons that were shown before a restart work before the call has come this far again.
            meanwhile = await self._decisions.standing(stored.id)
            # What is decided already is shown nowhere any more.
            if meanwhile is None or meanwhile.state == "open":
                seconds = stored.expires_at - self._clock() if stored.expires_at else inf
                with trio.move_on_after(max(0.0, seconds)):
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(self._ask, waiting, where)
                        await waiting.over.wait()
                        nursery.cancel_scope.cancel()
            # A yes that comes with the end of the turn, or of the conversation, is for nothing any more.
            await trio.lowlevel.checkpoint_if_cancelled()
            await self.void_changed(stored.id)
            # Of no effect where somebody has decided.
            seen = any(place.in_place is not None and place.chat == stored.shown.chat for place in where)
            standing = await self.vote(stored, waiting.no or Vote(NOBODY, False, silence(stored.shown)), seen=seen)
            return standing
        finally:
            del self._open[stored.id]
            if standing is None and not (stored.message and not subject.step.extension):
                with trio.CancelScope(shield=True):
                    await self.void(stored, STOPPED)
            waiting.wake()

    async def _ask(self, waiting: _Open, where: Collection[Recipient]) -> None:
        """In place; cards are on their way. Where neither can ask anybody, that is a no."""
        stored = waiting.stored
        async with trio.open_nursery() as nursery:
            if stored.shown.terms.on_expiry == "wait":
                nursery.start_soon(self._remind, waiting)
            for place in where:
                if (channel := place.in_place) is not None:
                    nursery.start_soon(self._ask_in_place, waiting, channel, place.chat)
            while len(failed := await self._failed(waiting)) < max(1, len(stored.places)):
                await waiting.stirred.wait()
            waiting.no = failed[0]
            waiting.over.set()

    async def _failed(self, waiting: _Open) -> list[Vote]:
        waiting.stirred = trio.Event()
        try:
            lost = await self._decisions.given_up(waiting.stored.id)
        except StoreFailed as error:
            # Whoever is asked in place can answer all the same, and time is over for the others some day.
            log.warning("cards_unread", id=waiting.stored.id, reason=str(error))
            lost = ()
        return [*waiting.failed, *(Vote(NOBODY, False, f"the chat could not ask: {why}") for why in lost)]

    async def _ask_in_place(self, waiting: _Open, channel: AskingChannel, chat: Chat) -> None:
        here, decide, request = requester(chat), self._decide(waiting.stored.id), waiting.stored.shown
        try:
            await channel.ask(request.seen_from(chat), lambda decision: decide(decision, here))
        except CannotAsk as error:
            waiting.failed.append(Vote(channel.name, False, str(error)))
        except Exception as error:
            log.warning("approval_not_asked", id=request.id, chat=chat.session_key, exc_info=error)
            waiting.failed.append(Vote(NOBODY, False, "the chat could not ask"))
        waiting.stirred.set()

    async def _remind(self, waiting: _Open) -> None:
        """Once: it waits for ever."""
        stored = waiting.stored
        await trio.sleep(stored.shown.ttl_s)
        await self._posting.post(waiting.subject.claim.conversation.agent, reminders(stored))
        waiting.wake()
