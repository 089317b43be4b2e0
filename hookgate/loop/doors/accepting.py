"""How a message comes into the books: as an arrival, stored to be answered, or at once with its end.

Knows no queue and no conversation at work; who is turned away is the doors' word.
"""

from __future__ import annotations

from collections.abc import Callable

from hookgate.loop.doors.doors import Turned
from hookgate.loop.doors.guests import Guests
from hookgate.loop.doors.pairing import told
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.interfaces import Intake
from hookgate.protocol.journal.values import Accepted, Arrival, Conversation, Outcome, Upstream

MOST_KEPT = 200
"""Characters of a message that does not come in."""


class Accepting:
    """`agent_of`: the name of the one that answers there; `wake`: something for a chat has been stored. All that it
    does raises StoreFailed."""

    def __init__(
        self, intake: Intake, guests: Guests | None, agent_of: Callable[[Chat], str], wake: Callable[[Chat], None]
    ) -> None:
        self._intake, self._guests, self._agent_of, self._wake = intake, guests, agent_of, wake

    def arrival(self, inbound: Inbound, upstream: Upstream) -> Arrival:
        # Platforms number the messages of each chat.
        own = f"{inbound.chat.session_key} {inbound.message_id}" if inbound.message_id else ""
        agent, key = self._agent_of(inbound.chat), upstream.key or own
        return Arrival(inbound, agent, key, upstream.account, offset=upstream.offset, stream=upstream.stream)

    async def refuse(self, arrival: Arrival, turned: Turned) -> Accepted:
        """What does not come in touches no hook, no model and no conversation: it is in the books with its end."""
        inbound, chat = arrival.inbound, arrival.inbound.chat
        if not turned.why:
            return Accepted("", Conversation(chat.session_key, arrival.agent))
        kept = replace(inbound, text=inbound.text[:MOST_KEPT], media=(), replaces=0)
        tell = await told(turned, self._guests)
        outbox = (Outbound(chat, tell, kind="notice"),) if tell else ()
        accepted = await self._intake.refuse(replace(arrival, inbound=kept), turned.why, outbox)
        if outbox:
            self._wake(chat)
        return accepted

    async def settle(self, accepted: Accepted, outcome: Outcome, line: Outbound | None, why: str = "") -> None:
        """What was stored to be answered ends so, and people read the line, if there is one."""
        await self._intake.settle(accepted.id, outcome, () if line is None else (line,), why)
        if line is not None:
            self._wake(line.chat)
