"""Updates become what they mean here: somebody says something, presses a button, a group moves. Pure: knows no
connection, no clock and no rule about who is heard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from pydantic import ValidationError

from hookgate.channels.platforms.asking import Pressed
from hookgate.channels.platforms.message import (
    MAX_NAME,
    Attachment,
    PlatformMessage,
    Skipped,
    clean,
    named,
    problems,
    quoted,
)
from hookgate.channels.platforms.units import units
from hookgate.channels.telegram.entities import cut, without
from hookgate.channels.telegram.wire import CallbackQuery, Content, Entity, FileOf, Me, Message, Replied, Update
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass, replace

KINDS = ("message", "callback_query")
"""Those that are asked for."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A group has become another one."""

    old: int
    new: int


Heard = PlatformMessage | Pressed | Moved | Skipped


@dataclass(frozen=True, slots=True)
class Reader:
    """`me`: the bot, which is named in a group, or has said what is answered there."""

    channel: str
    me: Me

    def read(self, raw: object) -> Heard:
        """Never raises, whatever it is given."""
        try:
            update = Update.model_validate(raw)
        except ValidationError as error:
            return Skipped(f"an update that cannot be read: {problems(error)}", odd=True)
        if update.callback_query is not None:
            return _pressed(update.callback_query)
        if update.message is not None:
            return self._message(update.message)
        kinds = ", ".join(str(name) for name in cast("dict[str, object]", raw) if name != "update_id")
        return Skipped(f"an update of another kind: {kinds[:MAX_NAME]}", odd=True)

    def _message(self, message: Message) -> Heard:
        if message.migrate_to_chat_id is not None:
            return Moved(message.chat.id, message.migrate_to_chat_id)
        if message.chat.type not in ("private", "group", "supergroup"):
            return Skipped(f"a chat of the type {message.chat.type[:MAX_NAME]}")
        if message.sender is None or message.sender.is_bot or message.sender_chat is not None:
            # A bot that answers bots never ends; who writes as a group or a channel is nobody that is known.
            return Skipped("said by no person")
        addressed, text = self._addressed(message)
        if addressed is None:
            return Skipped("a command for another bot")
        attachments = tuple(_attachments(message))
        besides = () if text.startswith("/") else (self._quoted(message), *_told(message, attachments))
        said = "\n".join(filter(None, (*besides, text)))
        if not attachments and not said:
            return Skipped("it says nothing")
        album = f"{message.chat.id} {message.media_group_id}" if message.media_group_id else ""
        chat = _chat(self.channel, message, str(message.sender.id))
        replied = message.reply_to_message is not None and self._is_by_me(message.reply_to_message)
        return PlatformMessage(chat, said, str(message.message_id), attachments, album, addressed, replied)

    def _addressed(self, message: Message) -> tuple[bool | None, str]:
        """Whether the bot is named in it, None: it commands another one; and its text without the bot's name."""
        text = message.text or message.caption
        entities = message.entities if message.text else message.caption_entities
        named = False
        # From behind, so that what is taken out moves nothing that is still looked at.
        for entity in sorted(entities, key=lambda it: it.offset, reverse=True):
            word = cut(text, entity.offset, entity.length)
            if entity.type == "bot_command" and entity.offset == 0:
                name, _, bot = word.partition("@")
                if bot and not self._is_me(bot):
                    return None, text
                named = named or bool(bot)
                text = name + cut(text, entity.length, units(text))
            elif self._mentions(entity, word):
                named = True
                text = without(text, 0, entity.length).lstrip() if entity.offset == 0 else text
        return named, clean(text)

    def _mentions(self, entity: Entity, word: str) -> bool:
        if entity.type == "text_mention":
            return entity.user is not None and entity.user.id == self.me.id
        return entity.type == "mention" and self._is_me(word.removeprefix("@"))

    def _is_by_me(self, replied: Replied) -> bool:
        return replied.sender is not None and replied.sender.id == self.me.id and not replied.forum_topic_created

    def _is_me(self, name: str) -> bool:
        return bool(self.me.username) and name.casefold() == self.me.username.casefold()

    def _quoted(self, message: Message) -> str:
        """What somebody else has said, where this answers it."""
        replied = message.reply_to_message
        if replied is None or replied.forum_topic_created is not None or replied.sender is None:
            return ""
        by_me = self._is_by_me(replied)
        said = message.quote.text if message.quote is not None else replied.text or replied.caption
        if not said or (by_me and message.quote is None):
            return ""
        return quoted(said, f"in reply to {'you' if by_me else named(replied.sender.first_name) or 'somebody'}")


def _chat(channel: str, message: Message, sender: str) -> Chat:
    """Its thread is a topic of a forum alone: replies in other groups have a number as well."""
    thread = str(message.message_thread_id) if message.is_topic_message and message.message_thread_id > 1 else ""
    chat_type = "direct" if message.chat.type == "private" else "group"
    return Chat(channel, str(message.chat.id), sender, chat_type, thread)


def _attachments(message: Content) -> Iterator[Attachment]:
    if message.photo:
        # The sizes of one picture, the largest last.
        yield _attached(message.photo[-1], "photo")
    # An animation has its file as a document besides, for programs that do not know animations.
    document = message.document if message.animation is None else None
    kinds = (
        ("file", document),
        ("voice message", message.voice),
        ("audio", message.audio),
        ("video", message.video),
        ("video", message.video_note),
        ("animation", message.animation),
    )
    yield from (_attached(file, kind) for kind, file in kinds if file is not None)
    sticker = message.sticker
    if sticker is not None and not sticker.is_animated and not sticker.is_video:
        yield _attached(sticker, "sticker")


def _attached(file: FileOf, kind: str) -> Attachment:
    return Attachment(file.file_id, kind, named(file.file_name), max(file.file_size, 0))


def _told(message: Content, attachments: tuple[Attachment, ...]) -> Iterator[str]:
    """What is no text and no file, as a line; and what files are called."""
    if message.sticker is not None:
        yield f"[sticker {named(message.sticker.emoji)}]".replace(" ]", "]")
    yield from (f"[{it.kind}: {it.name}]" for it in attachments if it.name)
    if message.venue is not None:
        yield f"[place: {named(message.venue.title)}, {named(message.venue.address)}]"
    if message.location is not None:
        yield f"[location: {message.location.latitude:.6f}, {message.location.longitude:.6f}]"
    if (contact := message.contact) is not None:
        yield f"[contact: {named(f'{contact.first_name} {contact.last_name}')}, {named(contact.phone_number)}]"
    if message.poll is not None:
        yield f"[poll: {named(message.poll.question)}]"


def _pressed(query: CallbackQuery) -> Pressed:
    where = query.message
    chat, message = (str(where.chat.id), str(where.message_id)) if where is not None else ("", "")
    markup = where.reply_markup if where is not None else None
    is_there = markup is not None and any(
        it.callback_data == query.data for row in markup.inline_keyboard for it in row
    )
    user = str(query.sender.id)
    by = f"{named(query.sender.first_name)} ({user})".lstrip()
    return Pressed(query.id, query.data, user, by, chat, message_id=message, is_there=is_there)


def joined(album: tuple[PlatformMessage, ...]) -> PlatformMessage:
    """Its parts as one message, in the order in which they were sent."""
    parts = sorted(album, key=lambda it: int(it.message_id))
    text = "\n".join(it.text for it in parts if it.text)
    attachments = tuple(file for it in parts for file in it.attachments)
    meant = any(it.is_meant for it in parts)
    return replace(parts[0], text=text, attachments=attachments, mentioned=meant)


def number(raw: object) -> int:
    """Of an update, however broken the rest of it is; 0: it has none."""
    found = cast("dict[str, object]", raw).get("update_id") if isinstance(raw, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def chat_of(raw: object) -> str:
    """Where an update happens, however broken the rest of it is; empty: nowhere that is known."""
    members = cast("dict[str, object]", raw) if isinstance(raw, dict) else {}
    query = members.get("callback_query")
    message = cast("dict[str, object]", query).get("message") if isinstance(query, dict) else members.get("message")
    chat = cast("dict[str, object]", message).get("chat") if isinstance(message, dict) else None
    return str(cast("dict[str, object]", chat).get("id")) if isinstance(chat, dict) else ""
