"""An approval request as a message of Discord's: bold, code and buttons. Knows nothing of who may press."""

from __future__ import annotations

from hookgate.channels.discord.outgoing.formatting import JOINED, escaped
from hookgate.channels.discord.outgoing.messages import Messages
from hookgate.channels.platforms import cards
from hookgate.channels.platforms.asking import Pressed
from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.values import Standing

MOST = 2000
TRIES = (1500, 900, 400, 100)
"""How much of what others have written is shown: as much of it as fits, with what it takes to show it as it is."""


class DiscordCards:
    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    async def show(self, request: ApprovalRequest) -> str:
        key = f"card {request.id}"
        return await self._messages.post(request.chat, key, written(request), keyboard=cards.keyboard(request))

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
    texts = (_written(cards.card(request, outcome, most)) for most in TRIES)
    return next((it for it in texts if len(it) <= MOST), _written(cards.card(request, outcome, TRIES[-1]))[:MOST])


def _written(card: cards.Card) -> str:
    parts = [f"**{escaped(card.title)}**", *map(escaped, card.lines)]
    for name, value in card.arguments:
        # What would end the fence stands there as it is, but for joints that nobody sees.
        parts.append(f"{escaped(name)}:\n```\n{value.replace('`', JOINED)}\n```")
    if card.outcome:
        parts.append(f"**{escaped(card.outcome)}**")
    return "\n".join(parts)
