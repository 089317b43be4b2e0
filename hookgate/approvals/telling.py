"""What chats are told of a request, for the outbox: cards, where it is asked, what became of it. Stores nothing."""

from __future__ import annotations

from collections.abc import Iterable

from hookgate.approvals.decide import deciding, is_silence, refusal_reason, silence, whose
from hookgate.approvals.places import Recipient
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.journal.decisions import Standing, StoredRequest, Vote


def cards(stored: StoredRequest, where: Iterable[Recipient]) -> tuple[Outbound, ...]:
    """One for each chat, but where somebody answers in place."""
    title, chats = stored.shown.headline, (place.chat for place in where if place.in_place is None)
    return tuple(Outbound(chat, title, kind="notice", request=stored.id) for chat in chats)


def asked_elsewhere(stored: StoredRequest) -> tuple[Outbound, ...]:
    """For the chat that asks, where nobody in it can decide."""
    shown = stored.shown
    if shown.chat in stored.places:
        return ()
    chats = ", ".join(chat.session_key for chat in stored.places)
    return (_notice(shown.chat, f"{shown.headline} It waits for {whose(shown)}, asked in {chats}."),)


def outcome_told(standing: Standing, *, seen: bool = False) -> tuple[Outbound, ...]:
    """What has become of it, for the chats that were shown it, or wait for it; whoever has said so in the one chat
    there is knows. `seen`: in the chat that asks the question stood in place; there its end and the refused
    call are seen."""
    stored, vote = standing.request, deciding(standing)
    shown, chats = stored.shown, stored.places
    if chats == (shown.chat,) and not is_silence(standing) and not _is_from_elsewhere(vote, shown.chat):
        return ()
    said = f"Refused: {refusal_reason(standing)}."
    if standing.state == "approved" and vote is not None:
        said = f"{vote.name} has allowed it."
    elif standing.state == "refused" and vote is not None and vote.voter is not None:
        said = f"{vote.name} has refused it{': ' + vote.reason if vote.reason else ''}."
    everywhere = chats if shown.chat in chats else (shown.chat, *chats)
    silent = seen and is_silence(standing)
    return tuple(
        _notice(chat, f"{shown.headline} {said}") for chat in everywhere if not (silent and chat == shown.chat)
    )


def _is_from_elsewhere(vote: Vote | None, chat: Chat) -> bool:
    """Whether somebody has decided who is not in that chat: an operator."""
    return vote is not None and vote.voter is not None and vote.voter.channel != chat.channel


def reminders(stored: StoredRequest) -> tuple[Outbound, ...]:
    text = f"{stored.shown.headline} {silence(stored.shown).capitalize()}; it still waits."
    return tuple(_notice(chat, text) for chat in stored.places)


def _notice(chat: Chat, text: str) -> Outbound:
    return Outbound(chat, text, kind="notice")
