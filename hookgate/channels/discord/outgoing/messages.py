"""Messages on their way out, each as one call. Knows no queue: what can be tried again leaves as Undelivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from pydantic import ValidationError

from hookgate.channels.discord.api import Api, ApiFailed, Route
from hookgate.channels.discord.wire import Sent
from hookgate.channels.platforms.cards import Keyboard
from hookgate.channels.platforms.requests import Upload
from hookgate.protocol.chat import Chat
from hookgate.protocol.chat.channel import Undelivered

MOST = 2000
NO_MENTIONS: Mapping[str, object] = {"parse": []}
"""Nobody is called by what a model writes, or answers."""
SUPPRESS_EMBEDS, EPHEMERAL = 1 << 2, 1 << 6
"""Else the platform fetches what a model has made somebody look at; else everybody sees it."""
ROW, BUTTON, PLAIN = 1, 2, 2


class Messages:
    """Raises Undelivered: `final` where the same would be refused again."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def post(
        self,
        chat: Chat,
        key: str,
        text: str,
        uploads: Sequence[Upload] = (),
        keyboard: Keyboard = (),
        reply_to: str = "",
    ) -> str:
        """A message; its id. The same key within minutes is the same message, which then says this."""
        body: dict[str, object] = {**_said(text), "nonce": nonce(chat, key), "enforce_nonce": True}
        if keyboard:
            body["components"] = _rows(keyboard)
        if uploads:
            body["attachments"] = [{"id": str(n), "filename": it.filename} for n, it in enumerate(uploads)]
        if reply_to.isdecimal():
            # What was asked may be gone by now.
            body["message_reference"] = {"message_id": reply_to, "fail_if_not_exists": False}
        route = Route("POST", "/channels/{}/messages", (_room(chat),))
        try:
            sent = Sent.model_validate(await self._api.call(route, body, uploads))
        except ApiFailed as error:
            raise error.undelivered from None
        except ValidationError:
            return ""
        if sent.content.strip() != text.strip() and not uploads:
            await self.edit(chat, sent.id, text)
        return sent.id

    async def edit(self, chat: Chat, message_id: str, text: str, keyboard: Keyboard | None = None) -> None:
        """`keyboard` None: its buttons stay as they are."""
        await self._patch(chat, message_id, {**_said(text), **_buttons(keyboard)})

    async def bare(self, chat: Chat, message_id: str) -> None:
        """Without its buttons."""
        await self._patch(chat, message_id, _buttons(()))

    async def _patch(self, chat: Chat, message_id: str, body: Mapping[str, object]) -> None:
        try:
            await self._api.call(Route("PATCH", "/channels/{}/messages/{}", (_room(chat), message_id)), body)
        except ApiFailed as error:
            raise error.undelivered from None

    async def show_typing(self, chat: Chat) -> None:
        try:
            await self._api.call(Route("POST", "/channels/{}/typing", (_room(chat),)))
        except ApiFailed as error:
            raise error.undelivered from None

    async def whisper(self, within: str, text: str) -> None:
        """To whoever has acted, within that interaction: the application's id, a slash and its token."""
        application, _, token = within.partition("/")
        body = {"content": text[:MOST], "flags": EPHEMERAL, "allowed_mentions": NO_MENTIONS}
        try:
            await self._api.call(Route("POST", "/webhooks/{}/{}", (application, token), of_bot=False), body)
        except ApiFailed as error:
            raise error.undelivered from None


def nonce(chat: Chat, key: str) -> str:
    """Of 25 characters at most, and of this message alone."""
    return sha256(f"{chat.session_key} {key}".encode("utf-8", "replace")).hexdigest()[:24]


def _room(chat: Chat) -> str:
    """Raises Undelivered."""
    room = chat.thread or chat.chat_id
    if not room.isdecimal():
        raise Undelivered("a chat of Discord's is named by the number of its channel", final=True)
    return room


def _said(text: str) -> dict[str, object]:
    return {"content": text, "allowed_mentions": NO_MENTIONS, "flags": SUPPRESS_EMBEDS}


def _buttons(keyboard: Keyboard | None) -> dict[str, object]:
    return {} if keyboard is None else {"components": _rows(keyboard)}


def _rows(keyboard: Keyboard) -> list[dict[str, object]]:
    return [
        {
            "type": ROW,
            "components": [{"type": BUTTON, "style": PLAIN, "label": text, "custom_id": data} for text, data in row],
        }
        for row in keyboard
    ]
