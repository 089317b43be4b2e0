"""Clients that leave before their answer is whole: what they asked for ends, unless it is asked for again."""

from __future__ import annotations

from math import inf

import structlog
import trio

from hookgate.channels.openai.channel import OpenAIChannel
from hookgate.channels.openai.identity import Addressed
from hookgate.channels.openai.settings import OpenAIParts
from hookgate.protocol.chat import LEFT, Inbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.values import Accepted

log = structlog.get_logger("hookgate.openai")

AGAIN_S = 12.0
"""So long after a time-out the clients that ask again by themselves have done so."""


@dataclass(frozen=True, slots=True)
class Left:
    place: Addressed
    accepted: Accepted
    may_repeat: bool


class Leaving:
    def __init__(self, channel: OpenAIChannel, parts: OpenAIParts) -> None:
        self._channel, self._parts = channel, parts
        # As many as there are connections.
        self._left, self._inbox = trio.open_memory_channel[Left](inf)

    def leave(self, left: Left) -> None:
        self._left.send_nowait(left)

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            async for left in self._inbox:
                nursery.start_soon(self._end, left)

    async def _end(self, left: Left) -> None:
        place = left.place
        if left.may_repeat:
            await trio.sleep(AGAIN_S)
        answer = self._channel.answer(place.chat, place.message)
        if answer is not None and (answer.readers or answer.over):
            return
        try:
            if answer is not None and answer.running:
                await self._parts.receive(Inbound(place.chat, "/stop", message_id=f"{LEFT}{place.message}"))
            else:
                await self._parts.withdraw(place.chat, left.accepted)
        except Exception as error:
            log.warning("turn_not_ended", session=place.chat.session_key, reason=str(error))
