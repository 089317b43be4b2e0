"""Shards: the bot's servers divided among several connections, each of which one gateway has. Whose turn it is to
begin a session, and how all of them are, as one state."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import trio

from hookgate.channels.discord.connection import Connection
from hookgate.channels.discord.settings import DiscordSettings
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat.channel import ChannelState, Reception
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.cluster import Cluster

IDENTIFY_EVERY_S = 5.0
LOOK_S = 1.0
GIVE_S = 2.0
WORST: tuple[Reception, ...] = ("down", "degraded", "receiving", "elsewhere")
"""The state of all of them is the first one that one of them is in."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `many`."""

    number: int = 0
    many: int = 1

    def named(self, name: str) -> str:
        """What belongs to this shard alone; of one that is alone, as it is."""
        return f"{name} {self.number}/{self.many}" if self.many > 1 else name


class Turns:
    """A session begins every five seconds in each group of shards, whichever gateways have them. `beside` starts a
    task."""

    def __init__(self, cluster: Cluster, channel: str, beside: Callable[..., object]) -> None:
        self._cluster, self._channel, self._beside = cluster, channel, beside
        self._free: dict[int, trio.Semaphore] = {}

    async def take(self, shard: int, groups: int) -> None:
        """Returns when one may begin. Raises StoreFailed."""
        group = shard % groups
        free, name = self._free.setdefault(group, trio.Semaphore(1)), f"identify {self._channel} {group}"
        await free.acquire()
        try:
            while True:
                if await self._cluster.take(name):
                    break
                await trio.sleep(LOOK_S)
        except BaseException:
            free.release()
            raise
        self._beside(self._keep, name, free)

    async def _keep(self, name: str, free: trio.Semaphore) -> None:
        """Until the next one may."""
        try:
            await trio.sleep(IDENTIFY_EVERY_S)
        finally:
            free.release()
            with trio.move_on_after(GIVE_S, shield=True), suppress(StoreFailed):
                await self._cluster.give(name)


class ShardConnection(Connection):
    """`told` hears that it has become another."""

    def __init__(self, settings: DiscordSettings, shard: Shard, told: Callable[[], None]) -> None:
        super().__init__(settings)
        self._shard, self._told = shard, told

    def _become(self, state: Reception, why: str) -> None:
        super()._become(state, f"shard {self._shard.number} of {self._shard.many}: {why}" if why else "")
        self._told()


def worst(states: list[ChannelState]) -> ChannelState:
    return min(states, key=lambda it: WORST.index(it.state))
