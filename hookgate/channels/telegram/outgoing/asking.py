"""Approval requests in chats: shown once each, through restarts too, and changed into what became of them. Decides
nothing: what somebody presses goes to the gateway with the id of who has pressed it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
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
ANSWER_CHARS = 200
TRIES = 5
NO_CARD = "There is nothing behind this button any more."


@dataclass(frozen=True, slots=True)
class _Shown:
    chat: str
    thread: str
    message_id: int

    @property
    def place(self) -> Chat:
        return Chat("", self.chat, thread=self.thread)


class Asking:
    """`run` edits the cards of what has been decided, wherever that was."""

    def __init__(self, channel: str, api: Api, messages: Messages, parts: TelegramParts) -> None:
        self._channel, self._api, self._messages, self._parts = channel, api, messages, parts
        self._shown: dict[str, list[_Shown]] = {}
        # What waits here is bounded by the requests that are open and by the buttons that people press.
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

    # --- shown ---

    async def ask(self, request: ApprovalRequest) -> None:
        """Until it is cancelled. Raises CannotAsk."""
        chat, known = request.chat, self._shown.setdefault(request.id, [])
        if not any((it.chat, it.thread) == (chat.chat_id, chat.thread) for it in known):
            message_id = await self._posted(request)
            self._shown.setdefault(request.id, []).append(_Shown(chat.chat_id, chat.thread, message_id))
            with suppress(StoreFailed):
                await self._keep()
        try:
            await trio.sleep_forever()
        finally:
            self._changed(request.id)

    async def _posted(self, request: ApprovalRequest) -> int:
        failures = 0
        while True:
            try:
                return int(await self._messages.post(request.chat, cards.card(request), cards.keyboard(request)) or 0)
            except Undelivered as error:
                if error.final:
                    raise CannotAsk(error.why) from None
                failures += 1
                log.info("card_not_shown", channel=self._channel, request=request.id, reason=error.why)
                await trio.sleep(max(backoff_s(failures, FIRST_S, LONGEST_S), error.retry_after_s or 0))

    # --- pressed ---

    async def press(self, pressed: Pressed) -> None:
        """What was said is stored when this returns; who has pressed is told, and the card changed, after that.
        Raises StoreFailed."""
        read = cards.pressed(pressed.data, pressed.by)
        if read is None:
            self._work.send_nowait(partial(self._answer, pressed.id, NO_CARD))
            return
        request, decision = read
        outcome = await self._parts.decide(request, decision, Voter(self._channel, pressed.user))
        self._work.send_nowait(partial(self._answer, pressed.id, outcome.text))
        if outcome.state == "open" and not outcome.counted:
            return
        known = self._shown.setdefault(request, [])
        if pressed.message_id and not any(it.message_id == pressed.message_id for it in known):
            # One that was forgotten, or is of an earlier time.
            known.append(_Shown(str(pressed.chat_id), "", pressed.message_id))
        self._changed(request)

    # --- changed ---

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            async for work in self._inbox:
                nursery.start_soon(work)

    def _changed(self, request: str) -> None:
        self._work.send_nowait(partial(self._change, request))

    async def _answer(self, press: str, text: str) -> None:
        """Else the button turns for whoever has pressed it until it times out."""
        try:
            await self._api.call("answerCallbackQuery", {"callback_query_id": press, "text": text[:ANSWER_CHARS]})
        except ApiFailed as error:
            log.info("press_unanswered", channel=self._channel, reason=error.why)

    async def _change(self, request: str) -> None:
        try:
            standing = await self._parts.journal.decisions.standing(request)
            shown = tuple(self._shown.get(request, ()))
            is_open = standing is not None and standing.state == "open"
            if standing is not None and is_open and not standing.votes:
                return
            for it in shown:
                await self._edited(it, standing)
            if not is_open and self._shown.pop(request, None) is not None:
                await self._keep()
        except StoreFailed as error:
            log.warning("card_unchanged", channel=self._channel, request=request, reason=str(error))

    async def _edited(self, shown: _Shown, standing: Standing | None) -> None:
        for tries in range(1, TRIES + 1):
            try:
                if standing is None:
                    await self._messages.bare(shown.place, shown.message_id)
                    return
                request = standing.request.shown
                buttons = cards.keyboard(request) if standing.state == "open" else ()
                text = cards.card(request, cards.became(standing))
                await self._messages.edit(shown.place, shown.message_id, text, buttons)
            except Undelivered as error:
                if error.final or tries == TRIES:
                    log.info("card_unchanged", channel=self._channel, reason=error.why)
                    return
                await trio.sleep(max(backoff_s(tries, FIRST_S, LONGEST_S), error.retry_after_s or 0))
            else:
                return
