"""What a Discord channel says of its connection: in words for an operator, and how long to wait after a failure."""

from __future__ import annotations

from hookgate.channels.discord.api import ApiFailed
from hookgate.channels.discord.settings import DiscordSettings
from hookgate.channels.platforms.reception import Connecting
from hookgate.channels.platforms.sockets import SocketClosed
from hookgate.protocol.chat.channel import ChannelState

PORTAL = "https://discord.com/developers/applications"
REVOKED = 4004
UNMENDED_S = 900.0
"""Sessions are counted: 1,000 a day, and the token is void. What only a person mends is tried seldom."""
INTENT = (
    'the intent MESSAGE_CONTENT is off, which group = "all" needs: switch on "Message Content Intent" on the page '
    f"Bot of the application at {PORTAL}"
)
UNMENDED = {
    4010: "Discord takes it for a wrong shard of the bot",
    4011: "Discord wants the bot in shards, since it is in too many servers",
    4012: "Discord takes this version of its gateway no more",
    4013: "Discord knows an intent no more that is asked for",
    4014: INTENT,
}
"""By the code that it closes with, which tells what only a person mends."""


class Connection(Connecting):
    def __init__(self, settings: DiscordSettings) -> None:
        super().__init__(settings.name)
        self._token = f"the token in {settings.token_name}"
        self.bot = ""

    def failed(self, error: ApiFailed) -> float:
        if error.is_revoked:
            return self._void()
        return self.fails(f"Discord: {error.why}", error.retry_after_s)

    def unplaced(self, error: ApiFailed) -> float:
        """It does not say now where something was said."""
        if error.is_revoked:
            return self._void()
        return self.waits(f"Discord: {error.why}", error.retry_after_s)

    def closed(self, closed: SocketClosed) -> float:
        if closed.code == REVOKED:
            return self._void()
        if closed.code in UNMENDED:
            return max(UNMENDED_S, self.fails(UNMENDED[closed.code], for_long=True))
        return self.fails(f"Discord: {closed.why}")

    def intent_off(self) -> float:
        """No session is begun for that."""
        return max(60.0, self.fails(INTENT, for_long=True))

    def spent(self, wait_s: float) -> float:
        """It lets the bot begin no more sessions for so long."""
        why = f"Discord lets the bot begin no more sessions for {wait_s / 60:.0f} min: it has begun 1,000 in a day"
        return max(wait_s, self.fails(why, for_long=True))

    def is_as(self, shard: ChannelState) -> None:
        """As this one, which is the worst of all."""
        self._become(shard.state, shard.why)

    def _void(self) -> float:
        whose = f"{self._token} (of {self.bot})" if self.bot else self._token
        why = f"{whose} is not valid, or not any more: the page Bot of the application at {PORTAL} gives a new one"
        return self.revoked(why)
