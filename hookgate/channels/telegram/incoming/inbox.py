"""What is heard on its way in: files fetched, albums gathered, stored; and buttons that are pressed.

Knows neither how updates come nor what is shown. Whoever hands an update in may confirm it once
`take` has returned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field

import structlog
import trio
from pydantic import ValidationError

from hookgate.channels.platforms.asking import Pressed
from hookgate.channels.platforms.files import FETCH_PAUSE_S, Unfetched, keep_attachments
from hookgate.channels.platforms.message import Attachment, PlatformMessage, Skipped
from hookgate.channels.platforms.parts import PlatformParts
from hookgate.channels.telegram.api import Api, ApiFailed
from hookgate.channels.telegram.incoming.albums import Albums
from hookgate.channels.telegram.incoming.updates import Moved, Reader, number
from hookgate.channels.telegram.moves import Moves
from hookgate.channels.telegram.wire import FilePath
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.values import Upstream

log = structlog.get_logger("hookgate.telegram")

QUIET_S = 1.0
"""After the last part of an album that has come; more of it may come later, and joins what it belongs to."""
MAX_ALBUM = 10
MAX_FILE = 20_000_000
"""More the Bot API hands to nobody."""
TRIES = 3


@dataclass(eq=False)
class _Album:
    """`chat` and `first`: where it was said, and the number of the message that it begins with."""

    chat: Chat
    first: int
    parts: list[PlatformMessage] = field(default_factory=list[PlatformMessage])
    grown: trio.Event = field(default_factory=trio.Event)
    over: trio.Event = field(default_factory=trio.Event)
    failed: BaseException | None = None


class Inbox:
    """`press` acts on a button."""

    def __init__(
        self,
        reader: Reader,
        api: Api,
        parts: PlatformParts,
        moves: Moves,
        press: Callable[[Pressed], Awaitable[None]],
    ) -> None:
        self._reader, self._api, self._parts, self._moves, self._press = reader, api, parts, moves, press
        self._albums: dict[str, _Album] = {}
        self._whole: list[_Album] = []
        """Those that take no more parts and are not stored yet."""
        self._known = Albums(reader.channel, parts.journal.holds)

    @property
    def account(self) -> str:
        """The bot's id."""
        return str(self._reader.me.id)

    def expects_more(self, raw: object) -> bool:
        """Whether it is part of an album: taking it waits for the others, and what is said after it waits for it."""
        heard = self._reader.read(raw)
        if not isinstance(heard, PlatformMessage) or not heard.album:
            return False
        self._album(heard)
        return True

    def lane(self, raw: object) -> str:
        """Which of its chat's lanes it goes in: what is pressed, and a stop, waits for no file."""
        heard = self._reader.read(raw)
        if isinstance(heard, Pressed):
            return " pressed"
        return " stop" if isinstance(heard, PlatformMessage) and heard.stops else ""

    def _album(self, part: PlatformMessage) -> _Album:
        return self._albums.setdefault(part.album, _Album(part.chat, int(part.message_id)))

    async def take(self, raw: object, offset: str = "") -> None:
        """Returns once it is stored, is nothing to store, or cannot be dealt with, which holds up nothing that comes
        after it. Raises StoreFailed."""
        for tries in range(1, TRIES + 1):
            try:
                await self._take(raw, offset)
            except StoreFailed:
                raise
            except Exception:
                event = "update_given_up" if tries == TRIES else "update_failed"
                log.exception(event, channel=self._reader.channel, update=number(raw))
            else:
                return

    async def _take(self, raw: object, offset: str) -> None:
        match heard := self._reader.read(raw):
            case PlatformMessage(album=album) if album:
                await self._gather(heard, offset)
            case PlatformMessage():
                for it in () if heard.stops else (*self._albums.values(), *self._whole):
                    if it.chat == heard.chat and it.first < int(heard.message_id):
                        await it.over.wait()
                await self._receive(heard, offset)
            case Pressed():
                await self._press(heard)
            case Moved(old=old, new=new):
                await self._moves.note(old, new)
            case Skipped(why=why, odd=odd):
                (log.warning if odd else log.debug)("update_skipped", channel=self._reader.channel, reason=why)

    async def _gather(self, part: PlatformMessage, offset: str) -> None:
        """The first part takes all that come soon after it along, and the others wait for that."""
        album = self._album(part)
        album.parts.append(part)
        if len(album.parts) > 1:
            album.grown.set()
            await album.over.wait()
            if album.failed is not None:
                raise StoreFailed("the album that it belongs to was not stored")
            return
        try:
            await self._grown(album)
            self._close(part.album, album)
            self._whole.append(album)
            for said in await self._known.messages(album.parts):
                await self._receive(said, offset)
        except BaseException as error:
            album.failed = error
            raise
        finally:
            self._close(part.album, album)
            self._whole = [it for it in self._whole if it is not album]
            album.over.set()

    def _close(self, name: str, album: _Album) -> None:
        """Parts that come now are late, and begin another one."""
        if self._albums.get(name) is album:
            del self._albums[name]

    async def _grown(self, album: _Album) -> None:
        while len(album.parts) < MAX_ALBUM:
            with trio.move_on_after(QUIET_S) as quiet:
                await album.grown.wait()
                album.grown = trio.Event()
            if quiet.cancelled_caught:
                return

    async def _receive(self, said: PlatformMessage, offset: str) -> None:
        said = self._moves.known(said)
        inbound = said.inbound
        # Nothing is fetched for what nobody will read.
        if self._parts.hears(inbound):
            media, notes = await keep_attachments(self._parts.media, said, MAX_FILE, self._fetch)
            inbound = replace(inbound, text="\n".join(filter(None, (said.text, *notes))), media=media)
        await self._parts.receive(inbound, Upstream(self.account, offset))

    async def _fetch(self, attachment: Attachment) -> bytes:
        """Raises Unfetched."""
        try:
            found = FilePath.model_validate(await self._api.call("getFile", {"file_id": attachment.file_id}))
            return await self._api.download(found.file_path, MAX_FILE)
        except ApiFailed as error:
            again_s = min(error.retry_after_s or FETCH_PAUSE_S, 10 * FETCH_PAUSE_S)
            raise Unfetched(error.why, None if error.code == 400 else again_s) from None
        except ValidationError:
            raise Unfetched("the platform does not say where it is") from None
