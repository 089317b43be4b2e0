"""Approval requests in chats: cards that say how each stands by now, and what is pressed on them. Decides nothing:
what somebody presses goes to the gateway with the id of who has pressed it. Knows no platform and no queue: cards
are delivered as all messages are."""

from __future__ import annotations

from math import inf
from typing import Protocol

import structlog
import trio

from hookgate.channels.platforms import cards
from hookgate.channels.platforms.parts import PlatformParts
from hookgate.protocol.approval import ApprovalRequest, Outcome, Voter
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import Undelivered
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.decisions import Standing

log = structlog.get_logger("hookgate.cards")

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

    def shows_whole(self, request: ApprovalRequest) -> bool:
        """Whether its card leaves nothing out."""
        ...

    async def change(self, chat: Chat, message_id: str, standing: Standing | None) -> None:
        """As it stands by now; None: nobody knows of it any more, so that it only loses its buttons. Raises
        Undelivered."""
        ...

    async def answer(self, pressed: Pressed, text: str, *, counted: bool) -> None:
        """Tell whoever has pressed what became of it. Raises Undelivered."""
        ...


class ApprovalCards:
    """For the channel's `send` and `edit`, where they are given a card. `run` tells those who press what has come of
    it."""

    def __init__(self, channel: str, cards: Cards, parts: PlatformParts) -> None:
        self._channel, self._cards, self._parts = channel, cards, parts
        self._answers = 0
        # What waits here is bounded by MOST_ANSWERS.
        self._told, self._inbox = trio.open_memory_channel[tuple[Pressed, Outcome]](inf)

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            async for told in self._inbox:
                nursery.start_soon(self._answer, *told)

    async def show(self, outbound: Outbound) -> str:
        """The id of its message; empty where it was decided before anybody was shown it. Raises Undelivered and
        StoreFailed."""
        standing = await self._standing(outbound)
        open_ = standing is not None and standing.state == "open"
        return await self._cards.show(standing.request.shown) if standing is not None and open_ else ""

    async def change(self, outbound: Outbound, receipt: str) -> None:
        """To what it is by now; the receipt is what `show` gave. Raises Undelivered and StoreFailed."""
        await self._cards.change(outbound.chat, receipt, await self._standing(outbound))

    async def _standing(self, outbound: Outbound) -> Standing | None:
        """As it is seen from its chat."""
        standing = await self._parts.journal.decisions.standing(outbound.request)
        if standing is None:
            return None
        shown = standing.request.shown.seen_from(outbound.chat)
        return replace(standing, request=replace(standing.request, shown=shown))

    async def press(self, pressed: Pressed) -> None:
        """What was said is stored when this returns; who has pressed is told after that. Raises StoreFailed."""
        read = cards.pressed(pressed.data, pressed.by)
        if read is None:
            self._tell(pressed, Outcome(False, "unknown", NO_CARD))
            return
        request, decision = read
        if pressed.is_there:
            # A client may send whatever data with whatever message: the platform's word is what buttons that has.
            await self._parts.journal.decisions.shown(request, self._place(pressed), pressed.message_id)
        # Which chat that is a platform may have forgotten, or call by another id since.
        decision = replace(decision, said_in=Chat(self._channel, ""))
        self._tell(pressed, await self._parts.decide(request, decision, Voter(self._channel, pressed.user)))

    def shows_whole(self, request: ApprovalRequest) -> bool:
        """Whether its card leaves nothing out."""
        return self._cards.shows_whole(request)

    def _place(self, pressed: Pressed) -> Chat:
        return Chat(self._channel, pressed.chat, chat_type="group", thread=pressed.thread)

    def _tell(self, pressed: Pressed, outcome: Outcome) -> None:
        if self._answers < MOST_ANSWERS:
            self._answers += 1
            self._told.send_nowait((pressed, outcome))

    async def _answer(self, pressed: Pressed, outcome: Outcome) -> None:
        try:
            await self._cards.answer(pressed, outcome.text, counted=outcome.counted)
            if outcome.state == "unknown" and pressed.is_there:
                # It was forgotten, and its card is in no row.
                await self._cards.change(self._place(pressed), pressed.message_id, None)
        except Undelivered as error:
            log.info("press_unanswered", channel=self._channel, reason=error.why)
        finally:
            self._answers -= 1
