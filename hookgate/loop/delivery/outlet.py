"""The way out to the people of a chat: what is shown at once, what goes through the outbox, what they get to see."""

from __future__ import annotations

from dataclasses import dataclass

from hookgate.loop.delivery.delivery import Delivery
from hookgate.protocol.channel import ChannelPolicy
from hookgate.protocol.interfaces import Channel


@dataclass(frozen=True)
class Outlet:
    """`channel` is for previews and for questions to people; messages leave by `delivery` alone."""

    channel: Channel
    delivery: Delivery
    policy: ChannelPolicy
