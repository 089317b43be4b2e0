"""What failures of the Bot API mean for how a Telegram channel is, in words for an operator. Knows no update."""

from __future__ import annotations

from hookgate.channels.platforms.reception import Connecting
from hookgate.channels.telegram.api import ApiFailed
from hookgate.channels.telegram.settings import TelegramSettings


class Connection(Connecting):
    def __init__(self, settings: TelegramSettings) -> None:
        super().__init__(settings.name)
        self._settings = settings
        self.bot = ""

    def failed(self, error: ApiFailed) -> float:
        """Seconds until the next try."""
        token = f"the token in {self._settings.token_name}"
        whose = f"{token} (of @{self.bot})" if self.bot else token
        if error.is_revoked:
            return self.revoked(f"{whose} is not valid, or not any more: @BotFather gives a new one")
        if error.code == 409:
            twice = f"somebody else receives with {whose}: {error.why}"
            return self.fails(twice, error.retry_after_s, for_long=True)
        return self.fails(f"Telegram: {error.why}", error.retry_after_s)
