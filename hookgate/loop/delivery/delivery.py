"""Brings the rows of the outbox to their chats: each chat's in order, chats side by side, whatever becomes of one.

Knows no turn: whoever has stored a row says so, and may wait until it is there. The journal says what there is to
bring, so that a start finds what a crash has left.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from math import inf

import structlog
import trio

from hookgate.loop.delivery.queue import WAIT_S, ChatQueue, Ways
from hookgate.loop.delivery.sending import editing
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.interfaces import Channel, Replacing
from hookgate.protocol.journal.interfaces import Posting
from hookgate.protocol.journal.values import Claim, Row

log = structlog.get_logger("hookgate.loop")

AT_ONCE_S = 0.05
"""So long a turn keeps its place while it waits for a chat."""
LOOK_S = 60.0
"""How often the journal is asked for rows that nobody has told of, whatever it says itself."""
SOON_S = 1.0
"""How soon after something has changed in it."""

Aside = Callable[[], AbstractAsyncContextManager[None]]
"""Entered while somebody waits for long."""


class Delivery:
    """`channels` by name; they may come and go, and rows of one that is gone wait. `redactor`: for what a channel
    says of its own failure. `given_up` hears of what will never arrive, and why, once that is stored.
    What runs within `present` is cancelled before another gateway may take this one for gone."""

    def __init__(
        self,
        posting: Posting,
        channels: Mapping[str, Channel],
        redactor: Callable[[Chat], Replacing | None] = lambda _chat: None,
        given_up: Callable[[Outbound, str], None] = lambda _outbound, _why: None,
        present: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._posting, self._channels = posting, channels
        self._ways = Ways(posting, channels, redactor, given_up, present)
        self._queues: dict[str, ChatQueue] = {}
        self._changed = trio.Event()
        # What waits here is one for each chat at most.
        self._begun, self._inbox = trio.open_memory_channel[ChatQueue](inf)

    async def run(self) -> None:
        """Bring what there is and what comes, until cancelled; what is under way then is for the next start."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._listen)
            nursery.start_soon(self._look)
            async for queue in self._inbox:
                nursery.start_soon(self._work_off, queue)

    def look_soon(self) -> None:
        """There may be something to bring that nobody has told of."""
        self._changed.set()

    async def bring(self, storing: Awaitable[Row | None]) -> None:
        """What is next in its chat once this is stored. Whoever looks at the journal may find it there, and bring it,
        before the one who stores it hears of that."""
        meanwhile = set[str]()
        self._ways.meanwhile[id(meanwhile)] = meanwhile
        try:
            row = await storing
        finally:
            del self._ways.meanwhile[id(meanwhile)]
        if row is not None and (queue := self._queue(row.outbound.chat)) is not None:
            queue.wake(None if row.id in meanwhile else row)

    def wake(self, chat: Chat) -> None:
        """Something for this chat has been stored."""
        if (queue := self._queue(chat)) is not None:
            queue.wake()

    def write(self, claim: Claim, chat: Chat, text: str | None) -> None:
        """A piece of a reply while it is written; None: what came so far is void. Where the channel can edit, people
        read along; what is stored next for the claim's message takes the place of what they have read."""
        if claim.message and editing(self._channels.get(chat.channel)) and (queue := self._queue(chat)):
            queue.write(claim, text)

    def written(self, chat: Chat) -> None:
        """The reply is whole, or has broken off: nothing more of it is shown before its row says what it was."""
        if queue := self._queues.get(chat.session_key):
            queue.written()

    async def flush(self, chat: Chat, aside: Aside = nullcontext) -> str:
        """Until all that is stored for this chat is there, or will not be soon: then why."""
        self.wake(chat)
        queue = self._queues.get(chat.session_key)
        if queue is None:
            return ""
        with trio.move_on_after(AT_ONCE_S) as waiting:
            await queue.there.wait()
        if waiting.cancelled_caught:
            async with aside():
                with trio.move_on_after(WAIT_S):
                    await queue.there.wait()
            if not queue.there.is_set():
                queue.give_up_waiting()
        return queue.stuck

    async def hand_over(self, chat: Chat, row: str, aside: Aside = nullcontext) -> str:
        """As `flush`, for what has been stored in this row: where the channel fails at it meanwhile, it is given up,
        and this says why; what only takes long is on its way."""
        why = await self.flush(chat, aside)
        stuck = await self._posting.next_row(chat) if why else None
        if stuck is None or stuck.id != row or not stuck.tries:
            return ""
        await self._posting.dead(row, why)
        if queue := self._queues.get(chat.session_key):
            queue.begin_next(row)
        return why

    async def idle(self, session: str = "") -> None:
        """Until nothing is on its way to this chat, or to any, but what is stuck."""
        while busy := [it for key, it in self._queues.items() if session in ("", key) and not it.rest.is_set()]:
            await busy[0].rest.wait()

    def _queue(self, chat: Chat) -> ChatQueue | None:
        queue = self._queues.get(chat.session_key)
        if queue is None and chat.channel in self._channels:
            queue = self._queues[chat.session_key] = ChatQueue(chat, self._ways)
            self._begun.send_nowait(queue)
        return queue

    async def _look(self) -> None:
        while True:
            for name in tuple(self._channels):
                try:
                    for row in await self._posting.outgoing(name):
                        self.wake(row.outbound.chat)
                except StoreFailed as error:
                    log.warning("outbox_unread", channel=name, why=str(error))
                except Exception:
                    log.exception("outbox_unread", channel=name)
            quiet, now = self._ways.quiet, trio.current_time()
            for key in [key for key, until in quiet.items() if until <= now]:
                del quiet[key]
            await trio.sleep(SOON_S)
            with trio.move_on_after(LOOK_S):
                await self._changed.wait()
            self._changed = trio.Event()

    async def _listen(self) -> None:
        while True:
            await self._posting.changed()
            self.look_soon()

    async def _work_off(self, queue: ChatQueue) -> None:
        try:
            await queue.work_off()
        # What is stored is brought when the journal is looked at again.
        except StoreFailed as error:
            log.warning("delivery_broke_off", session=queue.chat.session_key, why=str(error))
        except Exception:
            log.exception("delivery_broke_off", session=queue.chat.session_key)
        finally:
            del self._queues[queue.chat.session_key]
            queue.begin_rest()
