"""Messages and interactions become what they mean here: somebody says something, or presses a button. Pure: knows no
connection, no clock and no rule about who is heard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from hookgate.channels.discord.wire import Content, Guild, Interaction, Message, Room, User
from hookgate.channels.platforms.asking import Pressed
from hookgate.channels.platforms.message import Attachment, PlatformMessage, Skipped, clean, named, quoted
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass

SAID, REPLIED = 0, 19
THREADS = (10, 11, 12)
"""Types of channels: a thread of news, a public and a private one, and so a post in a forum."""
COMMANDED, PRESSED = 2, 3
"""Types of interactions."""
_MENTION = re.compile(r"<@!?([0-9]{1,20})>")
_ROLE = re.compile(r"<@&([0-9]{1,20})>")
_EMOJI = re.compile(r"<a?(:[A-Za-z0-9_]{1,40}:)[0-9]{1,20}>")


@dataclass(slots=True)
class Reader:
    """`me`: the bot. `roles`: those of servers that are the bot's own, which people name in its place."""

    channel: str
    me: User
    roles: set[str] = field(default_factory=set[str])

    def learn(self, guild: Guild) -> None:
        self.roles |= {it.id for it in guild.roles if it.tags.bot_id == self.me.id}

    def said(self, message: Message, parent: str) -> PlatformMessage | Skipped:
        """`parent`: the channel that this is a thread of; empty: none."""
        if message.author.bot or message.author.system or message.webhook_id:
            # A bot that answers bots never ends; who writes by a webhook is nobody that is known.
            return Skipped("said by no person")
        if message.type not in (SAID, REPLIED):
            return Skipped(f"a message of the type {message.type}")
        mentioned, text = self._addressed(message)
        contents = (message, *(it.message for it in message.message_snapshots))
        attachments = tuple(
            Attachment(file.url, "file", named(file.filename), file.size)
            for it in contents
            for file in it.attachments
        )
        besides = () if text.startswith("/") else (self._quoted(message), *_told(message, contents))
        whole = "\n".join(filter(None, (*besides, text)))
        if not attachments and not whole:
            return Skipped("it says nothing, or the bot may not read it")
        chat = _chat(self.channel, message.channel_id, parent, message.author.id, in_server=bool(message.guild_id))
        replied = message.referenced_message is not None and self._is_me(message.referenced_message.author)
        return PlatformMessage(chat, whole, message.id, attachments, mentioned=mentioned, reply_to_bot=replied)

    def acted(self, interaction: Interaction) -> PlatformMessage | Pressed | Skipped:
        user = interaction.by
        if user is None or user.bot or not interaction.channel_id:
            return Skipped("an interaction of nobody, or nowhere")
        parent = thread_parent(interaction.channel)
        where = (interaction.channel_id, parent, user.id)
        chat = _chat(self.channel, *where, in_server=bool(interaction.guild_id))
        if interaction.type == PRESSED and interaction.message is not None:
            data = interaction.data.custom_id
            its = (it.custom_id for row in interaction.message.components for it in row.components)
            answered_at = f"{interaction.application_id}/{interaction.token}"
            by = f"{named(user.name)} ({user.id})".lstrip()
            place = (chat.chat_id, chat.thread, interaction.message.id, data in its)
            return Pressed(answered_at, data, user.id, by, *place)
        if interaction.type == COMMANDED and interaction.data.name:
            # No message of the chat has this id.
            return PlatformMessage(chat, typed(interaction), f"i{interaction.id}")
        return Skipped(f"an interaction of the type {interaction.type}", odd=True)

    def _addressed(self, message: Message) -> tuple[bool, str]:
        """Whether the bot is named in it; and its text as people read it, without the bot's name at its beginning."""
        text, names = message.content, {it.id: named(it.name) for it in message.mentions}
        mentioned = any(it[1] == self.me.id for it in _MENTION.finditer(text))
        mentioned = mentioned or any(it[1] in self.roles for it in _ROLE.finditer(text))
        while (first := _MENTION.match(text) or _ROLE.match(text)) and first[1] in {self.me.id, *self.roles}:
            text = text[first.end() :].lstrip(" ,:\n")
        text = _MENTION.sub(lambda it: f"@{names[it[1]]}" if names.get(it[1]) else it[0], text)
        return mentioned, clean(_EMOJI.sub(r"\1", text))

    def _quoted(self, message: Message) -> str:
        """What somebody else has said, where this answers it."""
        replied = message.referenced_message
        if replied is None or not replied.content or self._is_me(replied.author):
            return ""
        name = named(replied.author.name) if replied.author is not None else ""
        return quoted(replied.content, f"in reply to {name or 'somebody'}")

    def _is_me(self, user: User | None) -> bool:
        return user is not None and user.id == self.me.id


def thread_parent(room: Room | None) -> str:
    """The channel that it is a thread of; empty: none."""
    return room.parent_id if room is not None and room.type in THREADS else ""


def typed(interaction: Interaction) -> str:
    """A slash command as one that was typed."""
    values = (str(it.value) for it in interaction.data.options)
    return clean(" ".join((f"/{interaction.data.name}", *filter(None, values))))


def _chat(channel: str, room: str, parent: str, sender: str, *, in_server: bool) -> Chat:
    """A thread belongs to its channel, and is a conversation of its own."""
    chat_type = "group" if in_server else "direct"
    return Chat(channel, parent or room, sender, chat_type, room if parent else "")


def _told(message: Message, contents: Sequence[Content]) -> Iterator[str]:
    """What is no text and no file, as a line; what was passed on; and what files are called."""
    for passed_on in contents[1:]:
        if passed_on.content:
            yield quoted(passed_on.content, "passed on")
    for it in contents:
        yield from (f"[sticker {named(sticker.name)}]".replace(" ]", "]") for sticker in it.sticker_items)
        yield from (f"[file: {named(file.filename)}]" for file in it.attachments if named(file.filename))
    if message.poll is not None:
        yield f"[poll: {named(message.poll.question.text)}]"
