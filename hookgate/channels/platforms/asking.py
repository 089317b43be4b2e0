"""Approval requests in chats: shown once each, through restarts too, and changed into what became of them. Decides
nothing: what somebody presses goes to the gateway with the id of who has pressed it. Knows no platform."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Protocol, cast

import structlog
import trio

from hookgate.channels.platforms import cards
from hookgate.channels.platforms.parts import PlatformParts
from hookgate.processes.backoff import backoff_s
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.channel import Undelivered
from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.journal.values import Standing

log = structlog.get_logger("hookgate.cards")

STATE = "cards"
MOST = 1000
"""Cards that wait; the oldest are forgotten, their buttons still work."""
FIRST_S, LONGEST_S = 1.0, 60.0
LOOKS_S = (0.5, 2.0, 10.0, 60.0)
"""When a request that nobody asks any more is looked at again: it is void only once its turn has ended."""
MOST_ANSWERS = 100
"""On their way at once; a press more is counted all the same."""
NO_CARD = "There is nothing behind this button any more."


@dataclass(frozen=True, slots=True)
class Pressed:
    """`by`: for the record, the name that somebody goes by with the id that counts. `message_id`: of the message with
    the button, empty where the platform does not know it any more. `is_there`: the platform says that this message
    has a button with this data; clients can send any."""

    id: str
    data: str
    user: str
    by: str
    chat: str = ""
    thread: str = ""
    message_id: str = ""
    is_there: bool = False


class Cards(Protocol):
    """Messages with buttons, as a platform has them."""

    async def show(self, request: ApprovalRequest) -> str:
        """The id of the message. Raises Undelivered."""
        ...

    async def change(self, chat: Chat, message_id: str, standing: Standing | None) -> None:
        """As it stands by now; None: nobody knows of it any more, so that it only loses its buttons. Raises
        Undelivered."""
        ...

    async def answer(self, pressed: Pressed, text: str, *, counted: bool) -> None:
        """Tell whoever has pressed what became of it. Raises Undelivered."""
        ...


@dataclass(frozen=True, slots=True)
class _Shown:
    chat: str
    thread: str
    message_id: str

    @property
    def place(self) -> Chat:
        return Chat("", self.chat, thread=self.thread)


@dataclass(eq=False)
class _Posting:
    """A card on its way. `why`: it cannot be shown; empty: it is there."""

    over: trio.Event = field(default_factory=trio.Event)
    why: str = "the card could not be shown"


class Asking:
    """`run` shows the cards, and edits those of what has been decided, wherever that was."""

    def __init__(self, channel: str, cards: Cards, parts: PlatformParts) -> None:
        self._channel, self._cards, self._parts = channel, cards, parts
        self._shown: dict[str, list[_Shown]] = {}
        self._asked: Counter[str] = Counter()
        """By request, the chats in which it is asked now."""
        self._posting: dict[tuple[str, str, str], _Posting] = {}
        self._stirred: dict[str, trio.Event] = {}
        """Requests that are followed; set: something has changed since its card was looked at."""
        self._answers = 0
        # What waits here is bounded: one for each card on its way and each request, and MOST_ANSWERS.
        self._work, self._inbox = trio.open_memory_channel[Callable[[], Awaitable[None]]](inf)

    async def load(self) -> None:
        """Raises StoreFailed."""
        kept = await self._parts.journal.holds.state(self._channel, STATE)
        for request, rows in cast("dict[str, list[list[object]]]", decode(kept) if kept else {}).items():
            self._shown[request] = [_Shown(*map(str, row)) for row in rows]
            self._changed(request)

    async def _keep(self) -> None:
        self._shown = dict(list(self._shown.items())[-MOST:])
        rows = {key: [(it.chat, it.thread, it.message_id) for it in its] for key, its in self._shown.items()}
        await self._parts.journal.holds.keep_state(self._channel, STATE, encode(rows).decode())

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            async for work in self._inbox:
                nursery.start_soon(self._worked, work)

    async def _worked(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception:
            log.exception("card_failed", channel=self._channel)

    # --- shown ---

    async def ask(self, request: ApprovalRequest) -> None:
        """Until it is cancelled; a card that is on its way then is not live for longer. Raises CannotAsk."""
        chat = request.chat
        self._asked[request.id] += 1
        try:
            known = self._shown.get(request.id, ())
            if not any((it.chat, it.thread) == (chat.chat_id, chat.thread) for it in known):
                await self._arrived(request)
            await trio.sleep_forever()
        finally:
            self._asked[request.id] -= 1
            self._asked += Counter()  # Leaves out the zeros.
            self._changed(request.id)

    async def _arrived(self, request: ApprovalRequest) -> None:
        """Raises CannotAsk."""
        key = (request.id, request.chat.chat_id, request.chat.thread)
        posting = self._posting.get(key)
        if posting is None:
            posting = self._posting[key] = _Posting()
            self._work.send_nowait(partial(self._post, request, posting))
        await posting.over.wait()
        if posting.why:
            raise CannotAsk(posting.why)

    async def _post(self, request: ApprovalRequest, posting: _Posting) -> None:
        """Whoever asks may be gone before the platform says which message it is."""
        chat, failures = request.chat, 0
        try:
            while self._asked[request.id]:
                try:
                    sent = await self._cards.show(request)
                except (Undelivered, StoreFailed) as error:
                    why, after_s, final = _failure(error)
                    if final:
                        posting.why = why
                        return
                    failures += 1
                    log.info("card_not_shown", channel=self._channel, request=request.id, reason=why)
                    await trio.sleep(max(backoff_s(failures, FIRST_S, LONGEST_S), after_s))
                else:
                    self._shown.setdefault(request.id, []).append(_Shown(chat.chat_id, chat.thread, sent))
                    posting.why = ""
                    with suppress(StoreFailed):
                        await self._keep()
                    return
        finally:
            del self._posting[request.id, chat.chat_id, chat.thread]
            posting.over.set()
            self._changed(request.id)

    # --- pressed ---

    async def press(self, pressed: Pressed) -> None:
        """What was said is stored when this returns; who has pressed is told, and the card changed, after that.
        Raises StoreFailed."""
        read = cards.pressed(pressed.data, pressed.by)
        if read is None:
            self._tell(pressed, NO_CARD, counted=False)
            return
        request, decision = read
        outcome = await self._parts.decide(request, decision, Voter(self._channel, pressed.user))
        self._tell(pressed, outcome.text, counted=outcome.counted)
        if outcome.state == "unknown" or (outcome.state == "open" and not outcome.counted):
            return
        known, at = self._shown.get(request, ()), _Shown(pressed.chat, pressed.thread, pressed.message_id)
        # A client may send whatever data with whatever message: the platform's word is what buttons that has.
        if pressed.is_there and not any((it.chat, it.message_id) == (at.chat, at.message_id) for it in known):
            # One that was forgotten, or is of an earlier time.
            self._shown[request] = [*known, at]
        self._changed(request)

    def _tell(self, pressed: Pressed, text: str, *, counted: bool) -> None:
        if self._answers < MOST_ANSWERS:
            self._answers += 1
            self._work.send_nowait(partial(self._answer, pressed, text, counted=counted))

    async def _answer(self, pressed: Pressed, text: str, *, counted: bool) -> None:
        try:
            await self._cards.answer(pressed, text, counted=counted)
        except Undelivered as error:
            log.info("press_unanswered", channel=self._channel, reason=error.why)
        finally:
            self._answers -= 1

    # --- changed ---

    def _changed(self, request: str) -> None:
        if request in self._stirred:
            self._stirred[request].set()
        else:
            self._stirred[request] = trio.Event()
            self._work.send_nowait(partial(self._follow, request))

    async def _follow(self, request: str) -> None:
        """Until its cards say what is so. One for each request: no edit overtakes another."""
        failures = looks = 0
        try:
            while True:
                stirred = self._stirred[request] = trio.Event()
                try:
                    may_change = await self._edited(request) and not self._asked[request]
                except (Undelivered, StoreFailed) as error:
                    why, after_s, _ = _failure(error)
                    failures += 1
                    log.info("card_unchanged", channel=self._channel, request=request, reason=why)
                    await trio.sleep(max(backoff_s(failures, FIRST_S, LONGEST_S), after_s))
                    continue
                failures = 0
                if may_change and looks < len(LOOKS_S):
                    with trio.move_on_after(LOOKS_S[looks]):
                        await stirred.wait()
                    looks = 0 if stirred.is_set() else looks + 1
                elif not stirred.is_set():
                    return
        finally:
            del self._stirred[request]

    async def _edited(self, request: str) -> bool:
        """Whether cards of it are live still. What could be edited, or never can be, is forgotten once it is decided.
        Raises StoreFailed, and Undelivered where a card has to be tried again."""
        failed: Undelivered | None = None
        before = self._shown.get(request, ())
        for it in tuple(before):
            standing = await self._parts.journal.decisions.standing(request)
            is_open = standing is not None and standing.state == "open"
            if standing is not None and is_open and not standing.votes:
                return True
            try:
                await self._cards.change(it.place, it.message_id, standing)
            except Undelivered as error:
                if not error.final:
                    failed = error
                    continue
                log.info("card_unchanged", channel=self._channel, request=request, reason=error.why)
            if not is_open:
                self._shown[request] = [other for other in self._shown.get(request, ()) if other != it]
        left = self._shown.get(request)
        if before and not left:
            self._shown.pop(request, None)
            await self._keep()
        if failed is not None:
            raise failed
        return bool(left)


def _failure(error: Undelivered | StoreFailed) -> tuple[str, float, bool]:
    """Why, how long to wait at least, and whether the same would fail again."""
    if isinstance(error, Undelivered):
        return error.why, error.retry_after_s or 0.0, error.final
    return str(error), 0.0, False
