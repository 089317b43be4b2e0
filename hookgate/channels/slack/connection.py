"""How a Slack channel is connected, in words for an operator: whether events come, and whether the bot may act. Knows
no event."""

from __future__ import annotations

from hookgate.channels.platforms.reception import Connecting
from hookgate.channels.slack.api import ApiFailed
from hookgate.channels.slack.settings import Secret, SlackSettings


class Connection(Connecting):
    """Events may come while the bot's token is none any more: then it receives nothing that it could answer."""

    def __init__(self, settings: SlackSettings) -> None:
        super().__init__(settings.name)
        self._settings = settings
        self._is_revoked = False
        self.listens = False
        """Events can come."""

    def works(self) -> None:
        if self.listens and not self._is_revoked:
            super().works()

    def elsewhere(self, holder: str) -> None:
        if not self._is_revoked:
            super().elsewhere(holder)

    def may_act(self) -> None:
        """The bot's token is one."""
        self._is_revoked = False
        self.works()

    def failed(self, error: ApiFailed, secret: Secret | None = None) -> float:
        """Seconds until the next try. `secret`: that was used; None: the bot's."""
        whose = secret or self._settings.token
        if error.is_revoked:
            self._is_revoked = self._is_revoked or secret is None
            return self.revoked(f"the token in {whose.name} is not valid, or not any more: {error.code}")
        return self.fails(f"Slack: {error.why}", error.retry_after_s, for_long=error.code == "missing_scope")
