"""Channels of a running gateway, as each says of itself; and those that a configuration would open."""

from __future__ import annotations

from collections.abc import Mapping

import trio

from hookgate.assembly.app import Runtime
from hookgate.protocol.chat.channel import ChannelState
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.sections import Config


@dataclass(frozen=True)
class ChannelStatus:
    """`kind`: as in its configuration; empty: the program's own. `state`: `receiving`, `degraded`, `down`, or
    `stopped` where no gateway runs; `since`: seconds of the wall clock, 0: never; `why`: one line."""

    name: str
    kind: str
    state: str
    since: float = 0.0
    why: str = ""


async def list_channels(runtime: Runtime) -> tuple[ChannelStatus, ...]:
    """How each channel is, by its own word."""
    await trio.lowlevel.checkpoint()
    kinds = {name: section.kind for name, section in runtime.settings.config.channels.items()}
    return tuple(
        ChannelStatus(name, kinds.get(name, ""), it.state, it.since, it.why)
        for name, it in channel_states(runtime).items()
    )


def channel_states(runtime: Runtime) -> Mapping[str, ChannelState]:
    """By their own words; one that is there as long as the gateway is knows no time of its own, and has its start."""
    states, started = (
        {name: channel.state for name, channel in runtime.channels.items()},
        runtime.telemetry.started_at,
    )
    return {name: it if it.since else replace(it, since=started) for name, it in states.items()}


def configured_channels(config: Config) -> tuple[ChannelStatus, ...]:
    return tuple(ChannelStatus(name, section.kind, "stopped") for name, section in config.channels.items())
