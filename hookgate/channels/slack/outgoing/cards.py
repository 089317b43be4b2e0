"""An approval request as a message of Slack's: blocks of rich text, in which nothing is escaped, and buttons. Knows
nothing of who may press."""

from __future__ import annotations

from typing import Any

from hookgate.channels.platforms import cards
from hookgate.channels.platforms.asking import Pressed
from hookgate.channels.platforms.units import units
from hookgate.channels.slack.outgoing.messages import Messages, Text
from hookgate.channels.slack.outgoing.mrkdwn import escaped
from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.decisions import Standing

MOST = 4000
"""Units of all that is on it. A notification shows its title and what became of it."""
GONE = "Nobody knows of this question any more."
STYLES = {"Allow": "primary", "Deny": "danger"}


class SlackCards:
    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    async def show(self, request: ApprovalRequest) -> str:
        return await self._messages.post(request.chat, written(request, cards.keyboard(request)))

    def shows_whole(self, request: ApprovalRequest) -> bool:
        return cards.is_whole(_fitting(request), request)

    async def change(self, chat: Chat, message_id: str, standing: Standing | None) -> None:
        if standing is None:
            await self._messages.edit(chat, message_id, Text(GONE, []))
            return
        request = standing.request.shown
        buttons = cards.keyboard(request) if standing.state == "open" else ()
        await self._messages.edit(chat, message_id, written(request, buttons, cards.became(standing)))

    async def answer(self, pressed: Pressed, text: str, *, counted: bool) -> None:
        """What counts is seen on the card."""
        if not counted:
            await self._messages.tell(Chat("", pressed.chat, thread=pressed.thread), pressed.user, text)


def written(request: ApprovalRequest, keyboard: cards.Keyboard, outcome: str = "") -> Text:
    card = _fitting(request, outcome)
    elements = [_section(_text(card.title or " ", bold=True), _text("\n" + "\n".join(card.lines)))]
    for name, value in card.arguments:
        elements += [_section(_text(f"{name}:")), {"type": "rich_text_preformatted", "elements": [_text(value)]}]
    if card.outcome:
        elements.append(_section(_text(card.outcome, bold=True)))
    buttons = [_button(text, data) for row in keyboard for text, data in row]
    blocks: list[dict[str, Any]] = [{"type": "rich_text", "elements": elements}]
    blocks += [{"type": "actions", "elements": buttons}] if buttons else []
    return Text(escaped("\n".join(filter(None, (card.title, card.outcome)))), blocks)


def _fitting(request: ApprovalRequest, outcome: str = "") -> cards.Card:
    return cards.fitting(request, outcome, lambda it: units(it.text) <= MOST)


def _section(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": list(elements)}


def _text(text: str, *, bold: bool = False) -> dict[str, Any]:
    return {"type": "text", "text": text, **({"style": {"bold": True}} if bold else {})}


def _button(text: str, data: str) -> dict[str, Any]:
    style = {"style": STYLES[text]} if text in STYLES else {}
    return {
        "type": "button",
        "text": {"type": "plain_text", "text": text},
        "action_id": data,
        "value": data,
        **style,
    }
