"""An approval request as a message of Discord's: bold, code and buttons. Knows nothing of who may press."""

from __future__ import annotations

from hookgate.channels.discord.outgoing.formatting import JOINED, escaped
from hookgate.channels.discord.outgoing.messages import MOST, Messages
from hookgate.channels.platforms import cards
from hookgate.channels.platforms.asking import Pressed
from hookgate.channels.platforms.units import units
from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.decisions import Standing


class DiscordCards:
    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    async def show(self, request: ApprovalRequest) -> str:
        key = f"card {request.id}"
        return await self._messages.post(request.chat, key, written(request), keyboard=cards.keyboard(request))

    def shows_whole(self, request: ApprovalRequest) -> bool:
        return cards.is_whole(_fitting(request), request)

    async def change(self, chat: Chat, message_id: str, standing: Standing | None) -> None:
        if standing is None:
            await self._messages.bare(chat, message_id)
            return
        request = standing.request.shown
        buttons = cards.keyboard(request) if standing.state == "open" else ()
        await self._messages.edit(chat, message_id, written(request, cards.became(standing)), buttons)

    async def answer(self, pressed: Pressed, text: str, *, counted: bool) -> None:
        """What has counted the card says itself."""
        if not counted:
            await self._messages.whisper(pressed.id, text)


def written(request: ApprovalRequest, outcome: str = "") -> str:
    return _written(_fitting(request, outcome))


def _fitting(request: ApprovalRequest, outcome: str = "") -> cards.Card:
    return cards.fitting(request, outcome, lambda it: units(_written(it)) <= MOST)


def _written(card: cards.Card) -> str:
    parts = [f"**{escaped(card.title)}**", *map(escaped, card.lines)]
    for name, value in card.arguments:
        # What would end the fence stands there as it is, but for joints that nobody sees.
        parts.append(f"{escaped(name)}:\n```\n{value.replace('`', JOINED)}\n```")
    if card.outcome:
        parts.append(f"**{escaped(card.outcome)}**")
    return "\n".join(parts)
