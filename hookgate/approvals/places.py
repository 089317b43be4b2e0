"""Where a request is shown: the chat that asks and those that its rule names, as far as somebody there may decide."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import structlog
import trio

from hookgate.approvals.decide import NOBODY, deciding, is_silence, refusal_reason, silence, whose
from hookgate.approvals.people import People, read_id, requester
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decision, Outcome, Voter
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.journal.values import Standing, StoredRequest, Vote

log = structlog.get_logger("hookgate.approvals")

Deciding = Callable[[Decision, Voter], Awaitable[Outcome]]


@dataclass(frozen=True)
class Place:
    channel: Channel
    chat: Chat

    def reached(self, deciders: Iterable[Voter]) -> frozenset[Voter]:
        """Those who may read it there: in a direct chat its one person, else whoever has an id on the channel."""
        if self.chat.chat_type == "direct":
            return frozenset(deciders) & {requester(self.chat)}
        return frozenset(it for it in deciders if it.channel == self.chat.channel)


def places(
    here: Place, ask_in: Iterable[str], channels: Mapping[str, Channel], deciders: frozenset[Voter]
) -> tuple[Place, ...]:
    """All in which somebody who may decide can be reached."""
    chats = (Chat(it.channel, it.id, chat_type="group") for it in map(read_id, ask_in))
    others = (Place(channels[chat.channel], chat) for chat in chats if chat.channel in channels)
    apart = (it for it in others if it.chat.session_key != here.chat.session_key)
    return tuple(it for it in (here, *apart) if it.reached(deciders))


def nobody_reached(
    request: ApprovalRequest,
    where: Iterable[Place],
    deciders: frozenset[Voter],
    people: People,
    limit: Iterable[str] = (),
) -> str:
    """Why it cannot be decided by as many as it takes; empty where it can. `limit`: whom alone the channel lets."""
    reached = {people.known_as(voter) for place in where for voter in place.reached(deciders)}
    required, who = request.terms.required, whose(request, limit)
    if len(reached) >= required:
        return ""
    elsewhere = "" if request.terms.ask_in else "; a rule's ask_in names a chat where they are"
    if not reached:
        return f"only {who} may approve this, and nobody of them can be reached{elsewhere}"
    return f"{required} of {who} have to approve this, and {len(reached)} can be reached{elsewhere}"


async def show(request: ApprovalRequest, where: Collection[Place], decide: Deciding) -> Vote | None:
    """Everywhere at once. Where no place can ask, the no that this is."""
    failed = list[Vote]()

    async def show_in(place: Place) -> None:
        here = requester(place.chat)
        try:
            await place.channel.ask(_seen_from(request, place), lambda decision: decide(decision, here))
        except CannotAsk as error:
            failed.append(Vote(place.channel.name, False, str(error)))
        except Exception as error:
            log.warning("approval_not_asked", id=request.id, chat=place.chat.session_key, exc_info=error)
            failed.append(Vote(NOBODY, False, "the chat could not ask"))

    async with trio.open_nursery() as nursery:
        for place in where:
            nursery.start_soon(show_in, place)
    return failed[0] if len(failed) == len(where) else None


def _seen_from(request: ApprovalRequest, place: Place) -> ApprovalRequest:
    """Elsewhere people read who asks, and where."""
    if place.chat.session_key == request.chat.session_key:
        return request
    said = f"{request.chat.sender or 'somebody'} asks in {request.chat.session_key}."
    text = f"{said}\n{request.text}" if request.text else said
    true = None if request.unredacted is None else _seen_from(request.unredacted, place)
    return replace(request, chat=place.chat, text=text, unredacted=true)


def asked_elsewhere(stored: StoredRequest) -> tuple[Outbound, ...]:
    """For the chat that asks, where nobody in it can decide."""
    shown = stored.shown
    if shown.chat in stored.places:
        return ()
    chats = ", ".join(chat.session_key for chat in stored.places)
    return (_notice(shown.chat, f"{shown.title} It waits for {whose(shown)}, asked in {chats}."),)


def outcome_told(standing: Standing) -> tuple[Outbound, ...]:
    """What has become of it, for the chats that were shown it, or wait for it; whoever has said so in the one chat
    there is knows."""
    stored, vote = standing.request, deciding(standing)
    shown, chats = stored.shown, stored.places
    if chats == (shown.chat,) and not is_silence(standing):
        return ()
    said = f"Refused: {refusal_reason(standing)}."
    if standing.state == "approved" and vote is not None:
        said = f"{vote.name} has allowed it."
    elif standing.state == "refused" and vote is not None and vote.voter is not None:
        said = f"{vote.name} has refused it{': ' + vote.reason if vote.reason else ''}."
    everywhere = chats if shown.chat in chats else (shown.chat, *chats)
    return tuple(_notice(chat, f"{shown.title} {said}") for chat in everywhere)


def reminders(stored: StoredRequest) -> tuple[Outbound, ...]:
    text = f"{stored.shown.title} {silence(stored.shown).capitalize()}; it still waits."
    return tuple(_notice(chat, text) for chat in stored.places)


def _notice(chat: Chat, text: str) -> Outbound:
    return Outbound(chat, text, kind="notice")
