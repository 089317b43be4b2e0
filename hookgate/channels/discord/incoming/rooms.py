"""What Discord's channels are: which one is a thread, and of what. Asked for once each."""

from __future__ import annotations

from collections import OrderedDict

from pydantic import ValidationError

from hookgate.channels.discord.api import Api, ApiFailed, Route
from hookgate.channels.discord.incoming.reading import THREADS
from hookgate.channels.discord.wire import Message, Room

KNOWN = 10_000


class Rooms:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._rooms: OrderedDict[str, Room] = OrderedDict()

    async def of(self, message: Message) -> Room:
        """Where it was said. Raises ApiFailed where that can be asked again."""
        kind = message.channel_type
        if not message.guild_id or (kind is not None and kind not in THREADS):
            return Room(id=message.channel_id, guild_id=message.guild_id)
        return await self.get(message.channel_id)

    async def get(self, id_: str) -> Room:
        """One that the bot may not look at is no thread. Raises ApiFailed where that can be asked again."""
        room = self._rooms.get(id_)
        if room is None:
            try:
                room = Room.model_validate(await self._api.call(Route("GET", "/channels/{}", (id_,))))
            except ApiFailed as error:
                if not error.is_final:
                    raise
                room = Room(id=id_)
            except ValidationError:
                room = Room(id=id_)
            self._rooms[id_] = room
            if len(self._rooms) > KNOWN:
                self._rooms.popitem(last=False)
        return room
