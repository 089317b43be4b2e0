"""Approval requests in chats: shown once each, through restarts too, and changed into what became of them. Decides
nothing: what somebody presses goes to the gateway with the id of who has pressed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import cast

import structlog
import trio

from hookgate.channels.telegram.api import Api, ApiFailed
from hookgate.channels.telegram.incoming.updates import Pressed
from hookgate.channels.telegram.outgoing import cards
from hookgate.channels.telegram.outgoing.messages import Messages
from hookgate.channels.telegram.settings import TelegramParts
from hookgate.processes.backoff import backoff_s
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.channel import Undelivered
from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.journal.values import Standing

log = structlog.get_logger("hookgate.telegram")

STATE = "cards"
MOST = 1000
"""Cards that wait; the oldest are forgotten, their buttons still work."""
FIRST_S, LONGEST_S = 1.0, 60.0
LOOKS_S = (0.5, 2.0, 10.0, 60.0)
"""When a request that nobody asks any more is looked at again: it is void only once its turn has ended."""
ANSWER_CHARS = 200
MOST_ANSWERS = 100
"""On their way at once; a press more is counted all the same."""
NO_CARD = "There is nothing behind this button any more."


@dataclass(frozen=True, slots=True)
class _Shown:
    chat: str
    thread: str
    message_id: int

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

    def __init__(self, channel: str, api: Api, messages: Messages, parts: TelegramParts) -> None:
        self._channel, self._api, self._messages, self._parts = channel, api, messages, parts
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
            self._shown[request] = [_Shown(str(chat), str(thread), int(str(id_))) for chat, thread, id_ in rows]
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
                    sent = await self._messages.post(chat, cards.card(request), cards.keyboard(request))
                except (Undelivered, StoreFailed) as error:
                    why, after_s, final = _failure(error)
                    if final:
                        posting.why = why
                        return
                    failures += 1
                    log.info("card_not_shown", channel=self._channel, request=request.id, reason=why)
                    await trio.sleep(max(backoff_s(failures, FIRST_S, LONGEST_S), after_s))
                else:
                    self._shown.setdefault(request.id, []).append(_Shown(chat.chat_id, chat.thread, int(sent or 0)))
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
            self._tell(pressed.id, NO_CARD)
            return
        request, decision = read
        outcome = await self._parts.decide(request, decision, Voter(self._channel, pressed.user))
        self._tell(pressed.id, outcome.text)
        if outcome.state == "unknown" or (outcome.state == "open" and not outcome.counted):
            return
        known = self._shown.get(request, ())
        at = (str(pressed.chat_id), pressed.message_id)
        # A client may send whatever data with whatever message: the platform's word is what buttons that has.
        if pressed.is_there and not any((it.chat, it.message_id) == at for it in known):
            # One that was forgotten, or is of an earlier time.
            self._shown[request] = [*known, _Shown(at[0], "", at[1])]
        self._changed(request)

    def _tell(self, press: str, text: str) -> None:
        if self._answers < MOST_ANSWERS:
            self._answers += 1
            self._work.send_nowait(partial(self._answer, press, text))

    async def _answer(self, press: str, text: str) -> None:
        """Else the button turns for whoever has pressed it until it times out."""
        try:
            await self._api.call("answerCallbackQuery", {"callback_query_id": press, "text": text[:ANSWER_CHARS]})
        except ApiFailed as error:
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
                await self._edit(it, standing)
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

    async def _edit(self, shown: _Shown, standing: Standing | None) -> None:
        if standing is None:
            await self._messages.bare(shown.place, shown.message_id)
            return
        request = standing.request.shown
        buttons = cards.keyboard(request) if standing.state == "open" else ()
        text = cards.card(request, cards.became(standing))
        await self._messages.edit(shown.place, shown.message_id, text, buttons)


def _failure(error: Undelivered | StoreFailed) -> tuple[str, float, bool]:
    """Why, how long to wait at least, and whether the same would fail again."""
    if isinstance(error, Undelivered):
        return error.why, error.retry_after_s or 0.0, error.final
    return str(error), 0.0, False
