"""A chat platform as delivery meets it: one that knows messages by their keys, and one that can change them too."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext

import trio

from hookgate.loop.delivery.delivery import Delivery
from hookgate.protocol.chat import Outbound
from hookgate.protocol.chat.channel import UNLIMITED, ChannelLimits
from hookgate.protocol.journal.interfaces import Journal
from tests.loop.recording import DEADLINE_S, Room


class Post(Room):
    """A channel that knows by its key what it has. `faults`: what it raises next, and once more for ever where
    `broken` says so; `hangs`: chats in which it never comes back."""

    def __init__(self, name: str = "test", limits: ChannelLimits = UNLIMITED) -> None:
        super().__init__([])
        self.name, self.limits = name, limits
        self.faults: list[Exception] = []
        self.hangs: set[str] = set()
        self.tries: list[str] = []
        self.there: dict[str, str] = {}

    async def send(self, outbound: Outbound, key: str) -> str:
        self.tries.append(key)
        await trio.lowlevel.checkpoint()
        if outbound.chat.chat_id in self.hangs:
            await trio.sleep_forever()
        if outbound.kind in self.broken:
            raise OSError("the chat is gone")
        if self.faults:
            raise self.faults.pop(0)
        self.there.setdefault(key, outbound.text)
        return f"receipt {len(self.there)}"

    @property
    def texts(self) -> list[str]:
        return list(self.there.values())


EDIT_S, GROUP_EDIT_S = 1.5, 3.0


class Board(Room):
    """A channel that knows no keys and can change what it has: `shown` by receipt. `history`: when which text was
    there; `takes_s`: so long each call is under way, of which there must never be two."""

    def __init__(self, longest: int = 0, edit_s: float = EDIT_S) -> None:
        super().__init__([])
        self.limits = ChannelLimits(longest, edit_s=edit_s, group_edit_s=max(edit_s, GROUP_EDIT_S))
        self.shown: dict[str, str] = {}
        self.history: list[tuple[float, str]] = []
        self.faults: list[Exception] = []
        self.takes_s = 0.0
        self.begun = trio.Event()
        self.stirred = trio.Event()
        self._numbers = 0
        self._under_way = 0

    async def send(self, outbound: Outbound, key: str) -> str:
        self._numbers += 1
        receipt = f"m{self._numbers}"
        await self._put(outbound, receipt)
        self.sent.append(outbound)
        return receipt

    async def edit(self, outbound: Outbound, receipt: str) -> None:
        assert not outbound.media
        await self._put(outbound, receipt)

    async def _put(self, outbound: Outbound, receipt: str) -> None:
        assert self._under_way == 0
        self._under_way += 1
        self.begun.set()
        try:
            await trio.sleep(self.takes_s)
        finally:
            self._under_way -= 1
        if self.faults:
            raise self.faults.pop(0)
        self.shown[receipt] = outbound.text
        self.history.append((trio.current_time(), outbound.text))
        self.stirred.set()
        self.stirred = trio.Event()

    @property
    def texts(self) -> list[str]:
        return list(self.shown.values())

    async def until(self, *texts: str) -> None:
        """These stand there."""
        with trio.fail_after(100 * DEADLINE_S):
            while self.texts != list(texts):
                await self.stirred.wait()


@asynccontextmanager
async def delivering(
    journal: Journal, *channels: Room, present: Callable[[], AbstractContextManager[object]] = nullcontext
) -> AsyncGenerator[Delivery]:
    delivery = Delivery(journal.posting, {it.name: it for it in channels}, present=present)
    with trio.fail_after(100 * DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(delivery.run)
            yield delivery
            nursery.cancel_scope.cancel()
