"""Which parts of an album were taken as one message, through restarts too: of one that comes again with a late part
nothing is lost, and nothing is heard twice. Knows no update and no file."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import cast

from hookgate.channels.platforms.message import PlatformMessage
from hookgate.channels.telegram.incoming.updates import joined
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.interfaces import Holds

STATE = "albums"
REMEMBERED = 500

Taken = tuple[bool, list[list[str]]]
"""Whether it is meant for the bot, and for each message of it the numbers of its parts."""


class Albums:
    def __init__(self, channel: str, holds: Holds) -> None:
        self._channel, self._holds = channel, holds

    async def messages(self, parts: Sequence[PlatformMessage]) -> list[PlatformMessage]:
        """Of parts that have come together: what was taken as one message before, which may have been lost since, and
        the rest as one. A caption stands on one part alone: all are meant if one is. Raises StoreFailed."""
        found = list[PlatformMessage]()

        def take(kept: str) -> str:
            taken = OrderedDict(cast("dict[str, Taken]", decode(kept)) if kept else {})
            found[:] = _taken(taken, parts)
            return encode(taken).decode() if taken else ""

        await self._holds.change_state(self._channel, STATE, take)
        return found


def _taken(taken: OrderedDict[str, Taken], parts: Sequence[PlatformMessage]) -> list[PlatformMessage]:
    """Its messages; what was not taken before is, from now on."""
    album, by_id = parts[0].album, {it.message_id: it for it in parts}
    meant, before = taken.get(album, (False, []))
    rest = sorted(by_id.keys() - {id_ for ids in before for id_ in ids}, key=int)
    # What comes again does so from its beginning on; without that it is stored.
    again = [[id_ for id_ in ids if id_ in by_id] for ids in before if ids[0] in by_id]
    meant = meant or any(it.is_meant for it in parts)
    if rest:
        taken[album] = (meant, [*before, rest])
        taken.move_to_end(album)
        if len(taken) > REMEMBERED:
            taken.popitem(last=False)
    groups = [*again, *([rest] if rest else [])]
    return [replace(joined(tuple(by_id[id_] for id_ in ids)), mentioned=meant) for ids in groups]
