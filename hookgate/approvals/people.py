"""Who somebody is, under ids of several channels, and whom a list of approvers means. Knows no request."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from hookgate.protocol.approval import OPERATOR, Voter
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass

REQUESTER = "requester"
ROLE = "role:"
USUAL_ROLE = "approver"
CHANNEL_NAME = re.compile(r"[A-Za-z0-9_.-]*")
"""As configurations may name channels."""


@dataclass(frozen=True, slots=True)
class Person:
    """`paired`: hookgate was told of them while it ran; else the configuration names them."""

    name: str
    ids: tuple[Voter, ...]
    roles: tuple[str, ...] = ()
    paired: bool = False


class People:
    """Whoever is not listed is a person of their own for each id. In a list of approvers, say, the names of the
    configuration alone are names: what somebody was called who came in later may be an id that it means."""

    def __init__(self, persons: Iterable[Person] = ()) -> None:
        persons = tuple(persons)
        self._by_name = {person.name: person for person in persons if not person.paired}
        self._by_id = {id_: person for person in persons for id_ in person.ids}

    def name(self, voter: Voter) -> str:
        """Empty: not listed."""
        person = self._by_id.get(voter)
        return "" if person is None else person.name

    def known_as(self, voter: Voter) -> str:
        """One and the same under whichever id they come."""
        return self.name(voter) or str(voter)

    def ids(self, voter: Voter) -> frozenset[Voter]:
        """All that this person has."""
        person = self._by_id.get(voter)
        return frozenset((voter,) if person is None else person.ids)

    def has(self, name: str) -> bool:
        """Whether it is a person's where it stands in a list."""
        return name in self._by_name

    def has_paired(self, voter: Voter) -> bool:
        person = self._by_id.get(voter)
        return person is not None and person.paired

    def roles(self, voter: Voter) -> tuple[str, ...]:
        person = self._by_id.get(voter)
        return () if person is None else person.roles

    def has_role(self, voter: Voter, role: str) -> bool:
        person = self._by_id.get(voter)
        return person is not None and role in person.roles

    def anybody_has(self, role: str, outside: Collection[str] = ()) -> bool:
        """`outside`: channels in which nobody is counted."""
        return any(role in person.roles for id_, person in self._by_id.items() if id_.channel not in outside)

    def are_meant(self, listed: Iterable[str], voter: Voter) -> bool:
        """Whether one of these (ids, names, roles) is this very one, whatever chat they are in."""
        here = Chat(voter.channel, "")
        return any(voter in self._meant(it, here) for it in listed if it != REQUESTER)

    def deciders(self, approvers: Iterable[str], chat: Chat, *, self_approval: bool) -> frozenset[Voter]:
        """The ids of all who may decide what `chat` asks."""
        named = people_named(approvers, chat, self_approval=self_approval)
        found = frozenset[Voter]().union(*(self._meant(it, chat) for it in named))
        if self_approval or REQUESTER in named:
            return found
        return found - self.ids(requester(chat))

    def _meant(self, approver: str, chat: Chat) -> frozenset[Voter]:
        if approver == REQUESTER:
            return self.ids(requester(chat))
        if approver.startswith(ROLE):
            role = approver.removeprefix(ROLE)
            return frozenset(id_ for id_, person in self._by_id.items() if role in person.roles)
        if approver in self._by_name:
            return frozenset(self._by_name[approver].ids)
        return self.ids(read_id(approver, chat.channel))


def people_named(approvers: Iterable[str], chat: Chat, *, self_approval: bool) -> tuple[str, ...]:
    """Whoever is named, else whoever usually decides there: where somebody is alone with hookgate they do, if they
    may."""
    alone = chat.chat_type == "direct" and self_approval
    return tuple(approvers) or (REQUESTER if alone else f"{ROLE}{USUAL_ROLE}",)


def requester(chat: Chat) -> Voter:
    """Whoever the turn answers there."""
    return Voter(chat.channel, chat.identity)


def read_id(text: str, channel: str = "") -> Voter:
    """`CHANNEL:ID`; a bare one is of this channel, also with a colon where what stands before that cannot be the name
    of a channel: `@ann:example.org`."""
    before, colon, after = text.partition(":")
    return Voter(before, after) if colon and CHANNEL_NAME.fullmatch(before) else Voter(channel, text)


def may(deciders: Iterable[Voter], voter: Voter) -> bool:
    """An operator always."""
    return voter == OPERATOR or voter in deciders
