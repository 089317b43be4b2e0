"""Messages on their way out, each as one call, whatever the platform makes of it: entities that it does not take, a
group that has moved, a topic that is gone. Knows no queue: what can be tried again leaves as Undelivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import TypeAdapter, ValidationError

from hookgate.channels.platforms.cards import Keyboard
from hookgate.channels.platforms.requests import Upload
from hookgate.channels.platforms.units import units
from hookgate.channels.telegram.api import Api, ApiFailed
from hookgate.channels.telegram.moves import Moves
from hookgate.channels.telegram.outgoing.files import FileCall
from hookgate.channels.telegram.outgoing.formatting import Formatted
from hookgate.channels.telegram.wire import Sent
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass, replace

GONE_TOPIC = "(The topic that this belongs to is gone.)"
NO_PREVIEW = {"is_disabled": True}
"""Else the platform fetches what a model has made somebody look at."""
_SENT: TypeAdapter[Sent | list[Sent]] = TypeAdapter(Sent | list[Sent])


@dataclass(frozen=True, slots=True)
class Text:
    """`plain`: what is sent where the platform does not take the entities."""

    formatted: Formatted
    plain: str

    def params(self, name: str = "text") -> dict[str, object]:
        """As this parameter, with its entities."""
        entities = "entities" if name == "text" else f"{name}_entities"
        said: dict[str, object] = {name: self.formatted.text}
        return said | {entities: self.formatted.entities} if self.formatted.spans else said

    def fits(self, most: int) -> bool:
        return max(units(self.formatted.text), units(self.plain)) <= most

    def followed_by(self, text: str) -> Text:
        return replace(self, formatted=self.formatted.followed_by(text), plain=self.plain + text)


class Messages:
    """Raises Undelivered: `final` where the same would be refused again."""

    def __init__(self, api: Api, moves: Moves) -> None:
        self._api, self._moves = api, moves

    async def post(self, chat: Chat, text: Text, keyboard: Keyboard = (), reply_to: str = "") -> str:
        """A message; its id."""
        more: dict[str, object] = {"link_preview_options": NO_PREVIEW, **_quoting(reply_to)}
        if keyboard:
            more["reply_markup"] = _markup(keyboard)
        return await self._send("sendMessage", chat, more, text)

    async def post_files(self, chat: Chat, call: FileCall, caption: Text | None, reply_to: str = "") -> str:
        """As one message, or one for each; their ids."""
        params = {**call.params, **_quoting(reply_to)}
        if caption is not None and "media" in params:
            params |= call.captioned(caption.params("caption"))
            caption = None
        return await self._send(call.method, chat, params, caption, call.uploads)

    async def edit(self, chat: Chat, message_id: int, text: Text, keyboard: Keyboard = ()) -> None:
        more: dict[str, object] = {"message_id": message_id, "link_preview_options": NO_PREVIEW}
        if keyboard:
            more["reply_markup"] = _markup(keyboard)
        try:
            await self._formatted("editMessageText", chat, more, text, ())
        except ApiFailed as error:
            if not error.says("message is not modified"):
                raise error.undelivered from None

    async def bare(self, chat: Chat, message_id: int) -> None:
        """Without its buttons."""
        params = {"chat_id": self._moves.current(chat.chat_id), "message_id": message_id}
        try:
            await self._api.call("editMessageReplyMarkup", params)
        except ApiFailed as error:
            if not error.says("message is not modified"):
                raise error.undelivered from None

    async def show_typing(self, chat: Chat) -> None:
        params: dict[str, object] = {"chat_id": self._moves.current(chat.chat_id), "action": "typing"}
        try:
            await self._api.call("sendChatAction", {**params, **_thread(chat)})
        except ApiFailed as error:
            raise error.undelivered from None

    async def _send(
        self,
        method: str,
        chat: Chat,
        params: Mapping[str, object],
        text: Text | None,
        uploads: Sequence[Upload] = (),
    ) -> str:
        thread = _thread(chat)
        try:
            try:
                result = await self._formatted(method, chat, {**params, **thread}, text, uploads)
            except ApiFailed as error:
                if not thread or not error.says("thread not found", "topic_deleted", "topic deleted"):
                    raise
                noted = None if text is None else text.followed_by(f"\n\n{GONE_TOPIC}")
                result = await self._formatted(method, chat, params, noted, uploads)
        except ApiFailed as error:
            raise error.undelivered from None
        return _ids(result)

    async def _formatted(
        self, method: str, chat: Chat, params: Mapping[str, object], text: Text | None, uploads: Sequence[Upload]
    ) -> object:
        """Raises ApiFailed."""
        name = "caption" if uploads else "text"
        said = {} if text is None else text.params(name)
        try:
            return await self._moved(method, chat, {**params, **said}, uploads)
        except ApiFailed as error:
            if text is None or not text.formatted.spans or not error.says("entit", "parse"):
                raise
        return await self._moved(method, chat, {**params, name: text.plain}, uploads)

    async def _moved(
        self, method: str, chat: Chat, params: Mapping[str, object], uploads: Sequence[Upload]
    ) -> object:
        current = self._moves.current(chat.chat_id)
        try:
            return await self._api.call(method, {"chat_id": current, **params}, uploads)
        except ApiFailed as error:
            if error.moved_to is None or not isinstance(current, int):
                raise
            moved_to = error.moved_to
        await self._moves.note(current, moved_to)
        return await self._api.call(method, {"chat_id": moved_to, **params}, uploads)


def _thread(chat: Chat) -> dict[str, object]:
    return {"message_thread_id": int(chat.thread)} if chat.thread.isdecimal() else {}


def _quoting(message_id: str) -> dict[str, object]:
    """What was asked may be gone by now."""
    if not message_id.isdecimal():
        return {}
    return {"reply_parameters": {"message_id": int(message_id), "allow_sending_without_reply": True}}


def _markup(keyboard: Keyboard) -> dict[str, object]:
    rows = [[{"text": text, "callback_data": data} for text, data in row] for row in keyboard]
    return {"inline_keyboard": rows}


def _ids(result: object) -> str:
    """Empty where the platform does not say."""
    try:
        sent = _SENT.validate_python(result)
    except ValidationError:
        return ""
    return " ".join(str(it.message_id) for it in (sent if isinstance(sent, list) else [sent]))
