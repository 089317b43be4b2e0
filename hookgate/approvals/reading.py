"""Whether somebody has been shown all of a request: where they say yes to it, or in answer to `/pending`."""

from __future__ import annotations

from collections.abc import Mapping

from hookgate.protocol.chat import Chat
from hookgate.protocol.interfaces import AskingChannel, Channel, FoldingChannel, ShowingChannel
from hookgate.protocol.journal.decisions import StoredRequest

MOST_READ = 10_000
"""The oldest is forgotten, and has to be read again."""


class Reading:
    """Of this process alone: after a restart, and at another gateway, it has to be read again. `channels` by name."""

    def __init__(self, channels: Mapping[str, Channel]) -> None:
        self._channels = channels
        self._read: dict[tuple[str, str], None] = {}

    def add(self, stored: StoredRequest, person: str, chat: Chat) -> None:
        """All of it is on its way to them there."""
        self._read.pop((stored.id, person), None)
        self._read[stored.id, person] = None
        if len(self._read) > MOST_READ:
            del self._read[next(iter(self._read))]
        channel = self._channels.get(chat.channel)
        if isinstance(channel, FoldingChannel):
            channel.viewed(stored.id)

    def done(self, stored: StoredRequest, person: str, chat: Chat) -> bool:
        """Whether a yes of theirs counts there."""
        if (stored.id, person) in self._read:
            return True
        on_channel = (it for it in stored.places if it.channel == chat.channel)
        places = [it for it in on_channel if chat.chat_id in ("", it.chat_id)]
        return bool(places) and all(self._shows(stored, it) for it in places)

    def _shows(self, stored: StoredRequest, place: Chat) -> bool:
        channel = self._channels.get(place.channel)
        if isinstance(channel, ShowingChannel):
            return channel.shows_whole(stored.shown.seen_from(place))
        return isinstance(channel, AskingChannel)
