"""Brings the rows of the outbox to their chats: each chat's in order, chats side by side, whatever becomes of one.

Knows no turn: whoever has stored a row says so, and may wait until it is there. The journal says what there is to
bring, so that a start finds what a crash has left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from math import inf
from time import time

import structlog
import trio

from hookgate.loop.delivery.splitting import split
from hookgate.processes.backoff import backoff_s
from hookgate.protocol.channel import ChannelLimits, Undelivered
from hookgate.protocol.interfaces import Channel, Replacing
from hookgate.protocol.journal.interfaces import Posting
from hookgate.protocol.journal.values import Row
from hookgate.protocol.values import Chat, Outbound

log = structlog.get_logger("hookgate.loop")

FIRST_S, LONGEST_S = 1.0, 600.0
MAX_TRIES = 12
"""Over about forty minutes; what has not arrived by then is a dead letter."""
SEND_S = 30.0
"""A channel that takes longer has failed."""
AT_ONCE_S = 0.05
"""So long a turn keeps its place while it waits for a chat."""
WAIT_S = 3.0
"""A chat that takes longer is stuck, and nobody waits for it until something has arrived there again."""
LOOK_S = 60.0
"""How often the journal is asked for rows that nobody has told of."""

SLOW = "the channel takes too long"

Aside = Callable[[], AbstractAsyncContextManager[None]]
"""Entered while somebody waits for long."""


@dataclass(eq=False)
class _Queue:
    """Of one chat, while there is something to bring. `rest` is set when nobody has to wait for it any more: it is
    empty, or `stuck` says why nothing gets there. `receipts`: of those parts of the next row that are there."""

    chat: Chat
    more: bool = True
    stuck: str = ""
    rest: trio.Event = field(default_factory=trio.Event)
    receipts: list[str] = field(default_factory=list[str])
    pause: trio.CancelScope = field(default_factory=trio.CancelScope)


class Delivery:
    """`channels` by name; they may come and go, and rows of one that is gone wait. `redactor`: for what a channel
    says of its own failure."""

    def __init__(
        self,
        posting: Posting,
        channels: Mapping[str, Channel],
        redactor: Callable[[Chat], Replacing | None] = lambda _chat: None,
    ) -> None:
        self._posting, self._channels, self._redactor = posting, channels, redactor
        self._queues: dict[str, _Queue] = {}
        # What waits here is one for each chat at most.
        self._begun, self._inbox = trio.open_memory_channel[_Queue](inf)

    async def run(self) -> None:
        """Bring what there is and what comes, until cancelled; what is under way then is for the next start."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look)
            async for queue in self._inbox:
                nursery.start_soon(self._work_off, queue)

    def wake(self, chat: Chat) -> None:
        """Something for this chat has been stored."""
        queue = self._queues.get(chat.session_key)
        if queue is not None:
            queue.more = True
        elif chat.channel in self._channels:
            queue = self._queues[chat.session_key] = _Queue(chat)
            self._begun.send_nowait(queue)

    async def flush(self, chat: Chat, aside: Aside = nullcontext) -> str:
        """Until all that is stored for this chat is there, or will not be soon: then why."""
        self.wake(chat)
        queue = self._queues.get(chat.session_key)
        if queue is None:
            return ""
        with trio.move_on_after(AT_ONCE_S) as waiting:
            await queue.rest.wait()
        if waiting.cancelled_caught:
            async with aside():
                with trio.move_on_after(WAIT_S):
                    await queue.rest.wait()
            if not queue.rest.is_set():
                queue.stuck = SLOW
                queue.rest.set()
        return queue.stuck

    async def hand_over(self, outbound: Outbound, aside: Aside = nullcontext) -> str:
        """As `flush`, for what has been stored just now: where the channel fails at it meanwhile, it is given up, and
        this says why; what only takes long is on its way."""
        why = await self.flush(outbound.chat, aside)
        row = await self._posting.next_row(outbound.chat) if why else None
        if row is None or row.outbound != outbound or not row.tries:
            return ""
        await self._posting.dead(row.id, why)
        if queue := self._queues.get(outbound.chat.session_key):
            self._begin_next(queue)
        return why

    async def idle(self, session: str = "") -> None:
        """Until nothing is on its way to this chat, or to any, but what is stuck."""
        while busy := [it for key, it in self._queues.items() if session in ("", key) and not it.rest.is_set()]:
            await busy[0].rest.wait()

    async def _look(self) -> None:
        while True:
            for name in tuple(self._channels):
                try:
                    for row in await self._posting.outgoing(name):
                        self.wake(row.outbound.chat)
                except Exception:
                    log.exception("outbox_unread", channel=name)
            await trio.sleep(LOOK_S)

    # --- one chat ---

    async def _work_off(self, queue: _Queue) -> None:
        try:
            while queue.more:
                queue.more = False
                while (row := await self._posting.next_row(queue.chat)) is not None and self._is_there(queue):
                    await self._bring(queue, row)
        except Exception:
            # What is stored is brought when the journal is looked at again.
            log.exception("delivery_broke_off", session=queue.chat.session_key)
        finally:
            del self._queues[queue.chat.session_key]
            queue.rest.set()

    def _is_there(self, queue: _Queue) -> bool:
        return queue.chat.channel in self._channels

    async def _bring(self, queue: _Queue, row: Row) -> None:
        failed = await self._try(queue, row)
        if failed is None:
            await self._posting.sent(row.id, " ".join(filter(None, queue.receipts)))
            self._begin_next(queue)
        elif failed.final or row.tries + 1 >= MAX_TRIES:
            log.warning("message_undeliverable", session=queue.chat.session_key, row=row.id, why=failed.why)
            await self._posting.dead(row.id, failed.why)
            self._begin_next(queue)
        else:
            wait_s = max(backoff_s(row.tries + 1, FIRST_S, LONGEST_S), failed.retry_after_s or 0)
            log.info("message_undelivered", session=queue.chat.session_key, why=failed.why, again_in_s=wait_s)
            await self._posting.failed(row.id, failed.why, time() + wait_s)
            queue.stuck = failed.why
            queue.rest.set()
            queue.pause = trio.CancelScope()
            with queue.pause:
                await trio.sleep(wait_s)

    def _begin_next(self, queue: _Queue) -> None:
        queue.receipts.clear()
        queue.pause.cancel()
        if queue.stuck:
            queue.stuck, queue.rest = "", trio.Event()

    async def _try(self, queue: _Queue, row: Row) -> Undelivered | None:
        """What went wrong; None: it is there."""
        channel = self._channels[queue.chat.channel]
        parts = _parts(row, channel.limits)
        try:
            for outbound, key in parts[len(queue.receipts) :]:
                with trio.fail_after(SEND_S):
                    queue.receipts.append(await channel.send(outbound, key))
        except Undelivered as error:
            return Undelivered(self._redacted(queue.chat, error.why), error.retry_after_s, final=error.final)
        except trio.TooSlowError:
            return Undelivered(f"{SLOW}: more than {SEND_S:.0f} s")
        except Exception as error:
            return Undelivered(self._redacted(queue.chat, str(error) or type(error).__name__))
        return None

    def _redacted(self, chat: Chat, text: str) -> str:
        redactor = self._redactor(chat)
        return text if redactor is None else redactor.text(text)


def _parts(row: Row, limits: ChannelLimits) -> list[tuple[Outbound, str]]:
    """Each with its key. What is attached comes with the last."""
    texts = split(row.outbound.text, limits)
    if len(texts) == 1:
        return [(row.outbound, row.id)]
    parts = [(replace(row.outbound, text=text, media=()), f"{row.id}.{n}") for n, text in enumerate(texts, 1)]
    last, key = parts[-1]
    return [*parts[:-1], (replace(last, media=row.outbound.media), key)]
