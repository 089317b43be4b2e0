"""What a reply says so far, as one message that is edited while it is written. Knows no outbox and no clock."""

from __future__ import annotations

from dataclasses import field

from hookgate.loop.delivery.splitting import split
from hookgate.protocol.chat.channel import ChannelLimits
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.values import Claim, Row


@dataclass(eq=False)
class Preview:
    """Of one reply. `due`: when it may be shown first. `over`: the reply is whole, or broke off. `failed`: the
    channel could not show it, so that nothing of it is shown before it is whole. `row`: its place, once that is
    stored."""

    claim: Claim
    due: float
    over: bool = False
    failed: bool = False
    row: Row | None = None
    shown: str = ""
    _text: list[str] = field(default_factory=list[str])

    def add(self, text: str | None) -> None:
        """None: what came so far is void; it stands there until something else takes its place."""
        if text is None:
            self._text.clear()
        else:
            self._text.append(text)

    def next(self, limits: ChannelLimits) -> str:
        """What is to stand there now: no more than one message holds. Empty where that stands there already."""
        text = "".join(self._text)
        self._text = [text]
        if limits.longest:
            text = split(text[: limits.longest + 1], limits)[0]
        return text if text.strip() and text != self.shown else ""
