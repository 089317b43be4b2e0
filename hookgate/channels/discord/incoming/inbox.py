"""What is heard on its way in: in its chat's order, with its files, stored; and buttons that are pressed.

Knows neither sessions nor what is shown. An interaction is acknowledged before anything else is done about it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from math import inf

import structlog
import trio
from pydantic import ValidationError

from hookgate.channels.discord.api import Api, ApiFailed, Route
from hookgate.channels.discord.connection import Connection
from hookgate.channels.discord.incoming.place import Places
from hookgate.channels.discord.incoming.reading import COMMANDED, PRESSED, Reader, thread_parent, typed
from hookgate.channels.discord.incoming.rooms import Rooms, may_be_thread
from hookgate.channels.discord.wire import Guild, Interaction, Message
from hookgate.channels.platforms.asking import Pressed
from hookgate.channels.platforms.files import FETCH_PAUSE_S, Unfetched, keep_attachments
from hookgate.channels.platforms.message import Attachment, PlatformMessage, Skipped, problems
from hookgate.channels.platforms.parts import PlatformParts
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.values import Upstream

log = structlog.get_logger("hookgate.discord")

MAX_FILE = 25_000_000
MOST_WAITING = 1000
"""Of what has come; while so much waits nothing more is read."""
MOST_STRANGE = 100
"""Of that by strangers; more of them are not even read: nobody stops the others' /stop from outside."""
TRIES = 3
PAUSE_S = 1.0
DEFERRED_UPDATE, MESSAGE, EPHEMERAL = 6, 4, 1 << 6
MAX_SHOWN = 500
Work = Callable[[], Awaitable[None]]


class Inbox:
    """`press` acts on a button. `stream`: which of the bot's streams it is, where it has several. `run` does what
    `take` was given."""

    def __init__(
        self,
        reader: Reader,
        api: Api,
        connection: Connection,
        parts: PlatformParts,
        places: Places,
        press: Callable[[Pressed], Awaitable[None]],
        stream: str = "",
    ) -> None:
        self._stream = stream
        self.reader, self.places, self.rooms = reader, places, Rooms(api)
        self._api, self._connection, self._parts, self._press = api, connection, parts, press
        self._lanes: dict[str, deque[tuple[str, Work, bool]]] = {}
        """By chat what waits there, each with its key among the places, and whether a stranger says it."""
        self._waiting = self._strange = 0
        self._settled = trio.Event()
        self.caught_up = trio.Event()
        self.caught_up.set()
        """What was missed is said before what is said now."""
        # Bounded by what waits.
        self._begun, self._beginning = trio.open_memory_channel[Work](inf)

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            async for work in self._beginning:
                nursery.start_soon(work)

    def beside(self, work: Work) -> None:
        self._begun.send_nowait(work)

    @property
    def is_full(self) -> bool:
        return self._waiting >= MOST_WAITING

    async def room(self) -> None:
        """Until there is some for what comes next."""
        while self.is_full:
            self._settled = trio.Event()
            await self._settled.wait()

    # --- what comes ---

    def take(self, name: str, data: object) -> None:
        """A dispatch. Never raises, whatever it is given."""
        try:
            match name:
                case "MESSAGE_CREATE":
                    self._take_message(Message.model_validate(data))
                case "INTERACTION_CREATE":
                    self._take_interaction(Interaction.model_validate(data))
                case "GUILD_CREATE":
                    guild = Guild.model_validate(data)
                    self.reader.learn(guild)
                    self.rooms.learn(guild)
                case _:
                    log.debug("dispatch_skipped", channel=self.reader.channel, name=name[:100])
        except ValidationError as error:
            log.warning("dispatch_skipped", channel=self.reader.channel, reason=f"{name}: {problems(error)}")

    def _take_message(self, message: Message) -> None:
        room = self.rooms.known(message.channel_id)
        said = self.reader.said(message, thread_parent(room))
        if isinstance(said, Skipped):
            log.debug("message_skipped", channel=self.reader.channel, reason=said.why)
            return
        # Of a thread that nobody knows yet nobody knows either who is heard there.
        strange = (room is not None or not may_be_thread(message)) and self._is_strange(said)
        if strange and self._is_overrun():
            return
        self.places.take(message.id, int(message.id))
        if message.content.strip() == "/stop":
            self._queue(f"{message.channel_id} stop", message.id, partial(self._hear, message), strange=strange)
        else:
            self._queue(message.channel_id, message.id, partial(self._hear_next, message), strange=strange)

    def _is_overrun(self) -> bool:
        """Whether more strangers wait than are read."""
        if self._strange < MOST_STRANGE:
            return False
        log.warning("stranger_not_read", channel=self.reader.channel)
        return True

    def _is_strange(self, said: PlatformMessage) -> bool:
        """Whether nobody hears whoever says this, were it meant for the bot."""
        return not self._parts.hears(replace(said.inbound, mentioned=True))

    def _take_interaction(self, interaction: Interaction) -> None:
        heard = self.reader.acted(interaction)
        strange = isinstance(heard, PlatformMessage) and self._is_strange(heard)
        if strange and self._is_overrun():
            return
        self.places.take(interaction.id)
        acknowledged = trio.Event()
        self.beside(partial(self._acknowledge, interaction, acknowledged, strange=strange))
        aside = " pressed" if interaction.type == PRESSED else " stop" if typed(interaction) == "/stop" else ""
        work = partial(self._act, heard, acknowledged)
        self._queue(f"{interaction.channel_id}{aside}", interaction.id, work, strange=strange)

    def _queue(self, lane: str, key: str, work: Work, *, strange: bool = False) -> None:
        self._waiting += 1
        self._strange += strange
        if lane in self._lanes:
            self._lanes[lane].append((key, work, strange))
        else:
            self._lanes[lane] = deque([(key, work, strange)])
            self.beside(partial(self._work_off, lane))

    async def _work_off(self, lane: str) -> None:
        queue = self._lanes[lane]
        while queue:
            key, work, strange = queue[0]
            await self.deal_with(work)
            queue.popleft()
            self._waiting -= 1
            self._strange -= strange
            self.places.done(key)
            self._settled.set()
        del self._lanes[lane]

    async def deal_with(self, work: Work) -> None:
        """Until it is stored, is nothing to store, or cannot be dealt with, which holds up nothing after it."""
        tries, waited = 0, False
        while True:
            try:
                await work()
            except StoreFailed as error:
                waited = True
                await trio.sleep(self._connection.unstored(str(error)))
            except Exception as error:
                if isinstance(error, ApiFailed) and not error.is_final:
                    waited = True
                    await trio.sleep(self._connection.unplaced(error))
                    continue
                tries += 1
                log.exception("given_up" if tries == TRIES else "failed", channel=self.reader.channel)
                if tries == TRIES:
                    return
                await trio.sleep(PAUSE_S)
            else:
                if waited:
                    self._connection.works()
                return

    # --- messages ---

    async def _hear_next(self, message: Message) -> None:
        await self.caught_up.wait()
        await self._hear(message)

    async def _hear(self, message: Message) -> None:
        room = await self.rooms.of(message)
        await self.hear(message, thread_parent(room))

    async def hear(self, message: Message, parent: str) -> None:
        """`parent`: the channel that it was said in a thread of. Raises StoreFailed."""
        said = self.reader.said(message, parent)
        if isinstance(said, Skipped):
            log.debug("message_skipped", channel=self.reader.channel, reason=said.why)
        else:
            await self._receive(said)

    async def _receive(self, said: PlatformMessage) -> None:
        inbound = said.inbound
        # Nothing is fetched for what nobody will read.
        if self._parts.hears(inbound):
            media, notes = await keep_attachments(self._parts.media, said, MAX_FILE, self._fetch)
            inbound = replace(inbound, text="\n".join(filter(None, (said.text, *notes))), media=media)
        await self._parts.receive(inbound, Upstream(self.reader.me.id, self.places.now.text, stream=self._stream))

    async def _fetch(self, attachment: Attachment) -> bytes:
        """Raises Unfetched."""
        try:
            return await self._api.download(attachment.file_id, MAX_FILE)
        except ApiFailed as error:
            raise Unfetched(error.why, None if error.is_final else FETCH_PAUSE_S) from None

    # --- interactions ---

    async def _acknowledge(self, interaction: Interaction, acknowledged: trio.Event, *, strange: bool) -> None:
        """Within three seconds; whoever acts sees a failure else, whatever comes of it. What a stranger says the
        others there need not read."""
        answer: dict[str, object] = {"type": DEFERRED_UPDATE}
        if interaction.type == COMMANDED:
            shown = typed(interaction)[:MAX_SHOWN].replace("`", "'")
            said: dict[str, object] = {"content": f"`{shown}`", "allowed_mentions": {"parse": []}}
            if strange:
                said["flags"] = EPHEMERAL
            answer = {"type": MESSAGE, "data": said}
        route = Route("POST", "/interactions/{}/{}/callback", (interaction.id, interaction.token), of_bot=False)
        try:
            await self._api.call(route, answer)
        except ApiFailed as error:
            log.info("interaction_unacknowledged", channel=self.reader.channel, reason=error.why)
        finally:
            acknowledged.set()

    async def _act(self, heard: PlatformMessage | Pressed | Skipped, acknowledged: trio.Event) -> None:
        match heard:
            case Pressed():
                # Whoever pressed is told more only after that.
                await acknowledged.wait()
                await self._press(heard)
            case PlatformMessage():
                await self._receive(heard)
            case Skipped(why=why, odd=odd):
                (log.warning if odd else log.debug)("interaction_skipped", channel=self.reader.channel, reason=why)
