"""What channels ask of the gateway, which is there later than they are."""

from __future__ import annotations

import trio

from hookgate.approvals.people import People
from hookgate.approvals.requests import Approvals
from hookgate.assembly.channels.policies import Policies
from hookgate.channels.http.keys import Keys
from hookgate.loop.doors.guests import Guests
from hookgate.loop.gateway import Gateway
from hookgate.protocol.approval import Decision, Outcome, Voter
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.chat.media import MediaStore
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.journal.decisions import StoredRequest
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import NOWHERE, Accepted, Upstream
from hookgate.protocol.values import LLMRequest


class Desk:
    """What channels ask of the gateway. They are opened before it, since they hear what hooks hear; it is there when
    anybody can ask."""

    gateway: Gateway
    approvals: Approvals

    def __init__(self, journal: Journal, redactor: Redactor, media: MediaStore, policies: Policies) -> None:
        self.keys = Keys(journal)
        self.journal, self.redactor, self.media, self.policies = journal, redactor, media, policies
        self._open = trio.Event()

    def open(self, gateway: Gateway, approvals: Approvals, guests: Guests | None) -> None:
        """`guests`: whoever is let in, or put out, is so at once."""
        self.gateway, self.approvals = gateway, approvals
        self._open.set()
        if guests is not None:
            guests.tell = self._known
            self._known(guests.people)

    def _known(self, people: People) -> None:
        self.approvals.adopt(self.approvals.rules, people)
        self.policies.doors.know(people)

    async def ready(self) -> None:
        """Until there is a gateway to ask."""
        await self._open.wait()

    async def receive(self, inbound: Inbound, upstream: Upstream = NOWHERE) -> Accepted:
        return await self.gateway.receive(inbound, upstream)

    async def turn_away(self, inbound: Inbound) -> None:
        await self.gateway.turn_away(inbound)

    def commands(self, channel: str) -> tuple[tuple[str, str], ...]:
        """What can be invoked there: names and helps."""
        return tuple((it.name, it.row[1]) for it in self.gateway.commands.listed(Chat(channel, "")))

    async def decide(self, request: str, decision: Decision, voter: Voter) -> Outcome:
        return await self.approvals.decide(request, decision, voter)

    def may(self, request: StoredRequest, voter: Voter) -> bool:
        return self.approvals.deciders.may(request, voter)

    def agent(self, chat: Chat) -> str:
        return self.gateway.agent_of(chat).name

    def tools(self, chat: Chat) -> frozenset[str]:
        """The names of ours there, of hooks' too, whichever of them a request would ship."""
        agent = self.gateway.agent_of(chat)
        specs = agent.registry.snapshot().specs
        request = LLMRequest(agent.model, (), specs)
        return frozenset(it.name for it in agent.gate.offered(agent.step("", Inbound(chat, "")), request).tools)

    async def withdraw(self, chat: Chat, accepted: Accepted) -> bool:
        return await self.gateway.anywhere.withdraw(chat, accepted)

    def rest(self, chat: Chat) -> None:
        self.gateway.resting.rest(chat.session_key)

    async def forget(self, chat: Chat) -> None:
        await self.gateway.anywhere.forget(chat)
