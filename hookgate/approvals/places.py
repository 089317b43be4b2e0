"""Where a request is shown: the chat that asks and those that its rule names, as far as somebody there may decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from hookgate.approvals.decide import whose
from hookgate.approvals.people import People, read_id, requester
from hookgate.protocol.approval import ApprovalRequest, Voter
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.interfaces import AskingChannel, Channel

OWN_CALL = "; whoever asks is one of them, but a call of their own counts with self_approval = true alone"


@dataclass(frozen=True)
class Recipient:
    channel: Channel
    chat: Chat

    @property
    def in_place(self) -> AskingChannel | None:
        """Who answers there at once, without a card."""
        return self.channel if isinstance(self.channel, AskingChannel) else None

    def reached(self, deciders: Iterable[Voter]) -> frozenset[Voter]:
        """Those who may read it there: in a direct chat its one person, else whoever has an id on the channel."""
        if self.chat.chat_type == "direct":
            return frozenset(deciders) & {requester(self.chat)}
        return frozenset(it for it in deciders if it.channel == self.chat.channel)


def places(
    here: Recipient, ask_in: Iterable[str], channels: Mapping[str, Channel], deciders: frozenset[Voter]
) -> tuple[Recipient, ...]:
    """All in which somebody who may decide can be reached."""
    chats = (Chat(it.channel, it.id, chat_type="group") for it in map(read_id, ask_in))
    others = (Recipient(channels[chat.channel], chat) for chat in chats if chat.channel in channels)
    apart = (it for it in others if it.chat.session_key != here.chat.session_key)
    return tuple(it for it in (here, *apart) if it.reached(deciders))


def _is_barred(request: ApprovalRequest, people: People) -> bool:
    """Whether whoever asks is named, but may not decide about a call of their own."""
    here, by = request.chat, partial(people.deciders, request.approvers, request.chat)
    return requester(here) in by(self_approval=True) - by(self_approval=request.terms.self_approval)


def nobody_reached(
    request: ApprovalRequest,
    where: Iterable[Recipient],
    deciders: frozenset[Voter],
    people: People,
    limit: Iterable[str] = (),
) -> str:
    """Why it cannot be decided by as many as it takes; empty where it can. `limit`: whom alone the channel lets."""
    reached = {people.known_as(voter) for place in where for voter in place.reached(deciders)}
    required, who = request.terms.required, whose(request, limit)
    if len(reached) >= required:
        return ""
    elsewhere = "" if request.terms.ask_in else "; a rule's ask_in can name a chat where they are"
    elsewhere += "" if limit or not _is_barred(request, people) else OWN_CALL
    if not reached:
        return f"only {who} may approve this, and nobody of them can be reached{elsewhere}"
    return f"{required} of {who} have to approve this, and {len(reached)} can be reached{elsewhere}"
