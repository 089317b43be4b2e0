"""What Discord's channels are: which one is a thread, and of what. A server says it of its own when it comes; of any
other one it is asked for once."""

from __future__ import annotations

from collections import OrderedDict

from pydantic import ValidationError

from hookgate.channels.discord.api import Api, ApiFailed, Route
from hookgate.channels.discord.incoming.reading import THREADS
from hookgate.channels.discord.wire import Guild, Message, Room

KNOWN = 10_000
DIRECT = 1
"""The type of a channel with one person; every other one is of a server."""
UNREADABLE = 422
"""Asked again, it would say the same."""


def may_be_thread(message: Message) -> bool:
    """As far as the message itself says where it was said."""
    return bool(message.guild_id) and (message.channel_type is None or message.channel_type in THREADS)


class Rooms:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._rooms: OrderedDict[str, Room] = OrderedDict()

    async def of(self, message: Message) -> Room:
        """Where it was said; one of a server that the bot may not look at is taken for no thread. Raises ApiFailed
        where that can be asked again."""
        here = Room(id=message.channel_id, guild_id=message.guild_id)
        if not may_be_thread(message):
            return here
        try:
            return await self.get(message.channel_id)
        except ApiFailed as error:
            if not error.is_final:
                raise
            return here

    def learn(self, guild: Guild) -> None:
        for room in (*guild.channels, *guild.threads):
            self._keep(room.model_copy(update={"guild_id": guild.id}))

    def known(self, id_: str) -> Room | None:
        return self._rooms.get(id_)

    async def get(self, id_: str) -> Room:
        """Only what the platform has said is remembered. Raises ApiFailed."""
        room = self._rooms.get(id_)
        if room is None:
            found = await self._api.call(Route("GET", "/channels/{}", (id_,)))
            try:
                room = Room.model_validate(found)
            except ValidationError:
                raise ApiFailed(UNREADABLE, "it does not say what that channel is") from None
            if not room.guild_id and room.type != DIRECT:
                # Taken for a person's own, it would be heard by rules that are not a group's.
                raise ApiFailed(UNREADABLE, "it does not say which server that channel is of")
            self._keep(room)
        return room

    def _keep(self, room: Room) -> None:
        self._rooms[room.id] = room
        if len(self._rooms) > KNOWN:
            self._rooms.popitem(last=False)
