"""Whether a gateway can do its work: each channel, each hook, the store. It looks; it mends nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import trio

from hookgate.assembly.app import Runtime
from hookgate.operations.channels import channel_states
from hookgate.operations.hooks import list_hooks
from hookgate.operations.journal.store import OK, store_state
from hookgate.protocol.chat.channel import ChannelState
from hookgate.protocol.dataclasses import dataclass

FRESH_S = 1.0
"""A look writes to the disk, so a second one this soon is answered with the first."""


@dataclass(frozen=True)
class Readiness:
    """By name what each is: a channel by its own word, of the others OK or what is wrong."""

    channels: Mapping[str, ChannelState] = field(default_factory=dict[str, ChannelState])
    hooks: Mapping[str, str] = field(default_factory=dict[str, str])
    store: str = OK
    stopping: bool = False

    @property
    def ready(self) -> bool:
        """A channel that is degraded is told; one that is down is not ready."""
        down = any(it.state == "down" for it in self.channels.values())
        return not (self.stopping or down) and {self.store, *self.hooks.values()} == {OK}


class Looking:
    """`stopping`: set once the gateway takes nothing in any more."""

    def __init__(self, runtime: Runtime, stopping: trio.Event) -> None:
        self._runtime, self._stopping = runtime, stopping
        self._one = trio.Lock()
        self._last, self._at = Readiness(), -FRESH_S

    async def __call__(self) -> Readiness:
        async with self._one:
            if trio.current_time() - self._at >= FRESH_S:
                self._last, self._at = await self._look(), trio.current_time()
        return self._last

    async def _look(self) -> Readiness:
        hooks = {it.name: _said(it.state, it.reason) for it in await list_hooks(self._runtime) if it.command}
        channels = channel_states(self._runtime)
        return Readiness(channels, hooks, await store_state(self._runtime.journal), self._stopping.is_set())


def _said(state: str, reason: str) -> str:
    return OK if state in ("up", "elsewhere") else f"{state}: {reason}" if reason else state
