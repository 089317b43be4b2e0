"""What is heard on its way in: files fetched, stored; and buttons that are pressed.

Knows neither how events come nor what is shown. Whoever hands one in may acknowledge it once `take` has returned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

import structlog
import trio

from hookgate.channels.platforms.asking import Pressed
from hookgate.channels.platforms.files import FETCH_PAUSE_S, Unfetched, keep_attachments
from hookgate.channels.platforms.message import Attachment, PlatformMessage, Skipped
from hookgate.channels.platforms.parts import PlatformParts
from hookgate.channels.slack.api import Api, ApiFailed
from hookgate.channels.slack.incoming.earlier import earlier
from hookgate.channels.slack.incoming.events import Heard, Reader, Turned
from hookgate.channels.slack.incoming.place import StreamPosition
from hookgate.channels.slack.threads import Threads
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.values import Upstream

log = structlog.get_logger("hookgate.slack")

MAX_FILE = 20_000_000
FETCHING = 8
"""Messages whose files are fetched at once: those are held in memory."""


class Inbox:
    """`press` acts on a button; `missed` is told of what was not stored. A message that comes twice, as another event
    or because it was not acknowledged in time, waits for itself, and is known then by where and when it was said."""

    def __init__(
        self,
        reader: Reader,
        api: Api,
        parts: PlatformParts,
        threads: Threads,
        press: Callable[[Pressed], Awaitable[None]],
        place: StreamPosition,
    ) -> None:
        self.reader, self.threads, self.place = reader, threads, place
        self._api, self._parts, self._press = api, parts, press
        self.missed: Callable[[], None] = lambda: None
        self._in_order: WeakValueDictionary[str, trio.Lock] = WeakValueDictionary()
        self._fetching = trio.CapacityLimiter(FETCHING)

    async def take(self, heard: Heard) -> None:
        """Returns once it is stored, is nothing to store, or cannot be dealt with. Raises StoreFailed."""
        try:
            match heard:
                case PlatformMessage():
                    await self._in_turn(heard)
                case Pressed():
                    await self._press(heard)
                case Turned(why=why):
                    log.warning("bot_turned", channel=self.reader.channel, reason=why)
                    self._api.revoked()
                case Skipped(why=why, odd=odd):
                    (log.warning if odd else log.debug)("event_skipped", channel=self.reader.channel, reason=why)
        except StoreFailed:
            raise
        except Exception:
            log.exception("event_given_up", channel=self.reader.channel)

    async def _in_turn(self, said: PlatformMessage) -> None:
        """One after the other in each conversation; a stop waits for nothing."""
        lane = f"{said.chat.session_key} {'stop' if said.stops else ''}"
        lock = self._in_order[lane] = self._in_order.get(lane) or trio.Lock()
        counts, missed = not said.message_id.startswith("command "), False
        if counts:
            self.place.begin(said.message_id)
        try:
            async with lock:
                await self._receive(said, counts=counts)
        except (StoreFailed, trio.Cancelled):
            missed = counts
            raise
        finally:
            if counts:
                self.place.end(said.message_id, missed=missed)
            if missed:
                self.missed()

    async def _receive(self, said: PlatformMessage, *, counts: bool) -> None:
        if said.chat in self.threads:
            said = replace(said, reply_to_bot=True)
        inbound, media, notes = said.inbound, (), list[str]()
        # Nothing is fetched for what nobody will read.
        hears = self._parts.hears(inbound)
        is_new_here = hears and said.mentioned and said.chat not in self.threads
        before = await earlier(self._api, self.reader, said, self._parts.hears) if is_new_here else ""
        if hears and said.attachments:
            async with self._fetching:
                media, notes = await keep_attachments(self._parts.media, said, MAX_FILE, self._fetch)
        inbound = replace(inbound, text="\n".join(filter(None, (before, said.text, *notes))), media=media)
        if hears and said.is_meant:
            await self.threads.note(said.chat)
        offset = self.place.after(said.message_id) if counts else ""
        await self._parts.receive(inbound, Upstream(self.reader.me.user_id, offset))

    async def _fetch(self, attachment: Attachment) -> bytes:
        """Raises Unfetched."""
        try:
            return await self._api.download(attachment.file_id, MAX_FILE)
        except ApiFailed as error:
            raise Unfetched(error.why, None if error.code else FETCH_PAUSE_S) from None
