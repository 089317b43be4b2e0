"""An approval request as a message of Telegram's: bold, code and buttons. Knows nothing of who may press."""

from __future__ import annotations

from hookgate.channels.platforms import cards
from hookgate.channels.platforms.asking import Pressed
from hookgate.channels.platforms.units import units
from hookgate.channels.telegram.api import Api, ApiFailed
from hookgate.channels.telegram.entities import Span
from hookgate.channels.telegram.outgoing.formatting import Formatted
from hookgate.channels.telegram.outgoing.messages import Messages, Text
from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.decisions import Standing

MOST = 4096
ANSWER_CHARS = 200


class TelegramCards:
    def __init__(self, api: Api, messages: Messages) -> None:
        self._api, self._messages = api, messages

    async def show(self, request: ApprovalRequest) -> str:
        return await self._messages.post(request.chat, written(request), cards.keyboard(request))

    def shows_whole(self, request: ApprovalRequest) -> bool:
        return cards.is_whole(_fitting(request), request)

    async def change(self, chat: Chat, message_id: str, standing: Standing | None) -> None:
        if standing is None:
            await self._messages.bare(chat, int(message_id or 0))
            return
        request = standing.request.shown
        buttons = cards.keyboard(request) if standing.state == "open" else ()
        text = written(request, cards.became(standing))
        await self._messages.edit(chat, int(message_id or 0), text, buttons)

    async def answer(self, pressed: Pressed, text: str, *, counted: bool) -> None:
        """Counted or not: else the button turns for whoever has pressed it until it times out."""
        try:
            await self._api.call(
                "answerCallbackQuery", {"callback_query_id": pressed.id, "text": text[:ANSWER_CHARS]}
            )
        except ApiFailed as error:
            raise error.undelivered from None


def written(request: ApprovalRequest, outcome: str = "") -> Text:
    return _written(_fitting(request, outcome))


def _fitting(request: ApprovalRequest, outcome: str = "") -> cards.Card:
    return cards.fitting(request, outcome, lambda it: units(_written(it).plain) <= MOST)


def _written(card: cards.Card) -> Text:
    writing = _Writing()
    writing.add(card.title, "bold")
    for line in card.lines:
        writing.add(f"\n{line}")
    writing.add("\n")
    for name, value in card.arguments:
        writing.add(f"\n{name}:\n")
        writing.add(value, "pre")
    if card.outcome:
        writing.add("\n\n")
        writing.add(card.outcome, "bold")
    shown = Formatted("".join(writing.parts), tuple(writing.spans))
    return Text(shown, shown.text)


class _Writing:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.spans: list[Span] = []
        self._at = 0

    def add(self, text: str, type_: str = "") -> None:
        size = units(text)
        if type_ and size:
            self.spans.append(Span(type_, self._at, size))
        self.parts.append(text)
        self._at += size
