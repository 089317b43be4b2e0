"""Who may decide which request by now: the people and roles of its rule or hook, within those of its channel.

A frozen value that a reload replaces; stores nothing and asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from hookgate.approvals.people import People, may, requester
from hookgate.protocol.approval import ApprovalRequest, Terms, Voter, Wish
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.decisions import Standing, StoredRequest


@dataclass(frozen=True, slots=True)
class Deciders:
    """`limits`: by channel, who alone may decide what is asked there; none: whoever else may."""

    people: People
    limits: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def of(self, shown: ApprovalRequest) -> frozenset[Voter]:
        """Those of the rule or the hook who are the channel's too."""
        return self._who(shown.approvers, shown.terms, shown.chat)

    def enough(self, wish: Wish, chat: Chat, voters: Iterable[Voter]) -> bool:
        """Whether as many of these as it takes may, by now, decide what is wished for there."""
        deciders = self._who(wish.approvers or self.limit(chat), wish.terms, chat)
        return self._count(deciders, voters) >= wish.terms.required

    def _who(self, approvers: Iterable[str], terms: Terms, chat: Chat) -> frozenset[Voter]:
        found, limit = self.people.deciders(approvers, chat, self_approval=terms.self_approval), self.limit(chat)
        return found & self.people.deciders(limit, chat, self_approval=True) if limit else found

    def limit(self, chat: Chat) -> tuple[str, ...]:
        return self.limits.get(chat.channel, ())

    def may(self, stored: StoredRequest, voter: Voter) -> bool:
        """Whether they could decide it when it was asked, and still can."""
        return may(stored.voters, voter) and may(self.of(stored.shown), voter)

    def asked_for(self, stored: StoredRequest, voter: Voter) -> bool:
        """Whether its turn answers this very person, under whichever id."""
        return voter in self.people.ids(requester(stored.shown.chat))

    def same(self, stored: StoredRequest) -> bool:
        """Whether they are those who could decide it when it was asked."""
        return self.of(stored.shown) == frozenset(stored.voters)

    def hold(self, standing: Standing) -> bool:
        """Whether those who have allowed it are still enough, and still may; or could be, where it is open."""
        if standing.state == "open":
            return self.same(standing.request)
        deciders = self.of(standing.request.shown)
        said = self._count(deciders, (it.voter for it in standing.votes if it.voter))
        return standing.state != "approved" or said >= standing.request.required

    def _count(self, deciders: frozenset[Voter], voters: Iterable[Voter]) -> int:
        """How many people those of them are who may decide."""
        return len({self.people.known_as(it) for it in voters if may(deciders, it)})
