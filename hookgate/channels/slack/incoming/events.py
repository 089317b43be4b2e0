"""Events become what they mean here: somebody says something, presses a button, types a command. Pure: knows no
connection, no clock and no rule about who is heard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError

from hookgate.channels.platforms.asking import Pressed
from hookgate.channels.platforms.message import MAX_NAME, Attachment, PlatformMessage, Skipped, clean, named, problems
from hookgate.channels.slack.incoming.spoken import mentions, spoken
from hookgate.channels.slack.wire import EventCallback, FileOf, Interaction, Me, Message, SlashCommand
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass

SAID = frozenset({"", "file_share", "thread_broadcast", "me_message", "bot_message"})
"""Subtypes of what somebody says; all others tell of something."""
SPOKEN = ("message", "app_mention")
TURNED = ("tokens_revoked", "app_uninstalled")
TOLD = frozenset({"message_changed", "message_deleted", "message_replied"})


@dataclass(frozen=True, slots=True)
class Turned:
    """`why`: the bot may not act any more, or again: its own word is asked for."""

    why: str


Heard = PlatformMessage | Pressed | Turned | Skipped


@dataclass(frozen=True, slots=True)
class Reader:
    """`me`: the bot, which is named in a channel, or has begun the thread that is answered in. `hears_bots`: of other
    bots, what mentions this one. Never raises, whatever it is given."""

    channel: str
    me: Me
    hears_bots: bool = False

    def read(self, kind: str, payload: Mapping[str, Any]) -> Heard:
        """`kind`: as Socket Mode calls it."""
        try:
            match kind:
                case "events_api":
                    return self._event(EventCallback.model_validate(payload))
                case "interactive":
                    return self._interaction(payload)
                case "slash_commands":
                    return self._command(SlashCommand.model_validate(payload))
                case _:
                    return Skipped(f"an envelope of another kind: {kind[:MAX_NAME]}", odd=True)
        except ValidationError as error:
            return Skipped(f"an event that cannot be read: {problems(error)}", odd=True)

    def past(self, message: Mapping[str, Any], channel: str, channel_type: str) -> Heard:
        """One of a channel's history, which says less of itself."""
        return self.read("events_api", {"event": {**message, "channel": channel, "channel_type": channel_type}})

    def _person(self, user: str, *teams: str | None) -> str:
        """Of another workspace than the bot's, as they come through shared channels: that and their id there."""
        team = next(filter(None, teams), self.me.team_id)
        return user if team == self.me.team_id else f"{team}.{user}"

    def _event(self, callback: EventCallback) -> Heard:
        event = callback.event
        kind = event.get("type")
        if kind in TURNED:
            return Turned(str(kind))
        if kind not in SPOKEN:
            return Skipped(f"an event of another kind: {str(kind)[:MAX_NAME]}", odd=True)
        if event.get("subtype") in TOLD:
            return Skipped("what was said is changed or taken back")
        return self._message(Message.model_validate(event), callback.team_id)

    def _message(self, message: Message, team: str | None) -> Heard:
        text, bot = message.text or "", message.bot_id or ""
        if message.subtype not in SAID:
            return Skipped(f"a message that tells of something: {message.subtype[:MAX_NAME]}")
        if message.user == self.me.user_id or (bot and bot == self.me.bot_id):
            return Skipped("said by the bot itself")
        mentioned = message.type == "app_mention" or mentions(text, self.me.user_id)
        if bot and not (self.hears_bots and mentioned):
            # A bot that answers bots never ends.
            return Skipped("said by another bot")
        if not (message.user or bot):
            return Skipped("said by nobody that is known")
        sender = self._person(message.user or bot, message.user_team, message.source_team, message.team, team)
        attachments = tuple(map(_attached, message.files))
        said = clean(spoken(text, self.me.user_id))
        besides = () if said.startswith("/") else (f"[{it.kind}: {it.name}]" for it in attachments if it.name)
        said = "\n".join(filter(None, (*besides, said)))
        if not said and not attachments:
            return Skipped("it says nothing")
        chat = _chat(self.channel, message, sender)
        to_bot = bool(chat.thread) and message.parent_user_id == self.me.user_id
        return PlatformMessage(chat, said, message.ts, attachments, mentioned=mentioned, reply_to_bot=to_bot)

    def _command(self, typed: SlashCommand) -> Heard:
        """`/hookgate stop` is `/stop`; with nothing behind it, it asks what there is."""
        text = clean(typed.text).lstrip("/") or "help"
        direct = typed.channel_id.startswith("D")
        sender = self._person(typed.user_id, typed.team_id)
        chat = Chat(self.channel, typed.channel_id, sender, "direct" if direct else "group")
        return PlatformMessage(chat, f"/{text}", f"command {typed.trigger_id[:MAX_NAME]}", mentioned=True)

    def _interaction(self, payload: Mapping[str, Any]) -> Heard:
        if payload.get("type") != "block_actions":
            return Skipped(f"an interaction of another kind: {str(payload.get('type'))[:MAX_NAME]}", odd=True)
        done = Interaction.model_validate(payload)
        pressed = next((it for it in done.actions if it.type in ("", "button")), None)
        if pressed is None:
            return Skipped("an action that is no button", odd=True)
        at, user = done.container, self._person(done.user.id, done.user.team_id, done.team and done.team.id)
        by = f"{named(done.user.username or done.user.name)} ({user})".lstrip()
        is_there = done.message is not None and _has_button(done.message.blocks, pressed.value)
        where = (at.channel_id, at.thread_ts or "", at.message_ts)
        return Pressed(done.trigger_id, pressed.value, user, by, *where, is_there=is_there)


def _has_button(blocks: list[dict[str, Any]], value: str) -> bool:
    for block in blocks:
        elements: object = block.get("elements")
        for element in cast("list[object]", elements) if isinstance(elements, list) else ():
            if isinstance(element, dict) and cast("dict[str, object]", element).get("value") == value:
                return True
    return False


def _chat(channel: str, message: Message, sender: str) -> Chat:
    """In a channel each message begins a thread, and each thread is a conversation; with the bot alone there is one,
    and one more for each thread."""
    direct = message.channel_type == "im" or (not message.channel_type and message.channel.startswith("D"))
    thread = message.thread_ts or ("" if direct else message.ts)
    return Chat(channel, message.channel, sender, "direct" if direct else "group", thread)


def _attached(file: FileOf) -> Attachment:
    kind = {"slack_audio": "voice message", "slack_video": "video"}.get(file.subtype, "file")
    kind = "photo" if file.mimetype.startswith("image/") else kind
    return Attachment(file.url_private_download or file.url_private, kind, named(file.name or ""), max(file.size, 0))
