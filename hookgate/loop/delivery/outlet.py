"""The way out to the people of a chat: what is shown at once, what goes through the outbox, what they get to see."""

from __future__ import annotations

from hookgate.loop.delivery.delivery import Delivery
from hookgate.loop.delivery.sending import editing
from hookgate.protocol.chat import Chat
from hookgate.protocol.chat.channel import ChannelPolicy
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.journal.values import Claim


@dataclass(frozen=True)
class Outlet:
    """`channel` is for previews and for questions to people; messages leave by `delivery` alone."""

    channel: Channel
    delivery: Delivery
    policy: ChannelPolicy

    @property
    def keeps_parts(self) -> bool:
        """Whether what is said before calls, or before a turn is cut off, is a message of its own: there people read
        along in messages, which stay."""
        return editing(self.channel) is not None

    def show(self, claim: Claim, chat: Chat, text: str | None) -> None:
        """A piece of a reply while it is written; None: what came so far is void."""
        if text is None:
            self.channel.restart_stream(chat)
        else:
            self.channel.stream(chat, text)
        self.delivery.write(claim, chat, text)
