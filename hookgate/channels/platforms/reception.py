"""How a platform's channel is connected: its state, for operators, and how long to wait after a failure. Knows no
platform and no message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import time
from typing import Any

import structlog
import trio

from hookgate.processes.backoff import backoff_s
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat.channel import ChannelState, Reception

log = structlog.get_logger("hookgate.channels")

FIRST_S, LONGEST_S = 0.5, 30.0
REVOKED_S = 300.0
"""A token that is none does not become one; somebody may give it back."""
DEGRADED_TRIES = 4
"""So many failures in a row are a hiccup; after more of them nothing comes in."""


class Connecting:
    """The other methods say how many seconds to wait; only what has come in sets all that back."""

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self._failures = 0
        self.state = ChannelState("down", time(), "it has not been reached yet")

    def works(self) -> None:
        self._failures = 0
        self._become("receiving", "")

    def fails(self, why: str, retry_after_s: float | None = None, *, for_long: bool = False) -> float:
        """`for_long`: only a person mends that, so it is down at once."""
        self._failures += 1
        self._become("down" if for_long or self._failures > DEGRADED_TRIES else "degraded", why)
        return max(backoff_s(self._failures, FIRST_S, LONGEST_S), retry_after_s or 0)

    def revoked(self, why: str) -> float:
        return max(REVOKED_S, self.fails(why, for_long=True))

    def unstored(self, why: str) -> float:
        """What came could not be stored: it comes again."""
        return self.waits(f"nothing can be stored: {why}")

    def waits(self, why: str, retry_after_s: float | None = None) -> float:
        """What came is here, and cannot be dealt with yet."""
        self._failures += 1
        self._become("degraded", why)
        return max(backoff_s(self._failures, FIRST_S, LONGEST_S), retry_after_s or 0)

    def elsewhere(self, holder: str) -> None:
        """Another gateway has the connection, HOST:PID."""
        self._failures = 0
        self._become("elsewhere", f"held by {holder}")

    def lets_go(self) -> None:
        """This gateway has it no more; which one has is not known yet."""
        self._become("elsewhere", "held by nobody yet")

    def takes_over(self) -> None:
        """This gateway has the connection from now on."""
        if self.state.state == "elsewhere":
            self._become("degraded", "it takes over from another gateway")

    def broke(self, why: str) -> float:
        return self.fails(f"it broke off, and begins again: {why}", for_long=True)

    def _become(self, state: Reception, why: str) -> None:
        before, self.state = self.state, self.state.become(state, why, time())
        if (before.state, before.why) != (state, why):
            say = log.info if state in ("receiving", "elsewhere") else log.warning
            say("channel_state", channel=self.channel, state=state, reason=why)


async def run_again(connection: Connecting, receive: Callable[[], Awaitable[Any]]) -> None:
    """Until cancelled; what breaks is begun again."""
    while True:
        try:
            await receive()
        except Exception as error:
            if not isinstance(error, StoreFailed):
                log.exception("channel_broke_off", channel=connection.channel)
            await trio.sleep(connection.broke(str(error) or type(error).__name__))
