"""How a Telegram channel is connected: its state, in words for an operator, and how long to wait after a failure.
Knows no update."""

from __future__ import annotations

from time import time

import structlog

from hookgate.channels.telegram.api import ApiFailed
from hookgate.channels.telegram.settings import TelegramSettings
from hookgate.processes.backoff import backoff_s
from hookgate.protocol.channel import ChannelState, Reception

log = structlog.get_logger("hookgate.telegram")

FIRST_S, LONGEST_S = 0.5, 30.0
REVOKED_S = 300.0
"""A token that is none does not become one; somebody may give it back."""
DEGRADED_TRIES = 4
"""So many failures in a row are a hiccup; after more of them nothing comes in."""


class Connection:
    """`failed` says how long to wait; only what has come in sets all that back."""

    def __init__(self, settings: TelegramSettings) -> None:
        self._settings = settings
        self._failures = 0
        self.bot = ""
        self.state = ChannelState("down", time(), "it has not been reached yet")

    def works(self) -> None:
        self._failures = 0
        self._become("receiving", "")

    def failed(self, error: ApiFailed) -> float:
        """Seconds until the next try."""
        self._failures += 1
        self._become("down" if self._is_down(error) else "degraded", self._said(error))
        if error.is_revoked:
            return REVOKED_S
        return max(backoff_s(self._failures, FIRST_S, LONGEST_S), error.retry_after_s or 0)

    def unstored(self, why: str) -> float:
        """What came could not be stored: it is asked for again."""
        self._failures += 1
        self._become("degraded", f"nothing can be stored: {why}")
        return backoff_s(self._failures, FIRST_S, LONGEST_S)

    def broke(self, why: str) -> float:
        self._failures += 1
        self._become("down", f"it broke off, and begins again: {why}")
        return backoff_s(self._failures, FIRST_S, LONGEST_S)

    def _is_down(self, error: ApiFailed) -> bool:
        return error.is_revoked or error.code == 409 or self._failures > DEGRADED_TRIES

    def _said(self, error: ApiFailed) -> str:
        token = f"the token in {self._settings.token_name}"
        whose = f"{token} (of @{self.bot})" if self.bot else token
        if error.is_revoked:
            return f"{whose} is not valid, or not any more: @BotFather gives a new one"
        if error.code == 409:
            return f"somebody else receives with {whose}: {error.why}"
        return f"Telegram: {error.why}"

    def _become(self, state: Reception, why: str) -> None:
        before, self.state = self.state, self.state.become(state, why, time())
        if (before.state, before.why) != (state, why):
            say = log.info if state == "receiving" else log.warning
            say("channel_state", channel=self._settings.name, state=state, reason=why)
