"""What a conversation carries from turn to turn beside its messages. In memory alone: nobody has said it."""

from __future__ import annotations

from collections import deque
from dataclasses import field

from hookgate.protocol.dataclasses import dataclass

MAX_NEWS = 32


@dataclass(frozen=True)
class Carried:
    """`used`: the providers of tools that were called. `native`: the models that have made a structured call: what
    they write as text is text. `news`: what providers report, for the model's next call; of more than MAX_NEWS that
    wait the oldest go."""

    used: set[str] = field(default_factory=set[str])
    native: set[str] = field(default_factory=set[str])
    news: deque[str] = field(default_factory=lambda: deque[str](maxlen=MAX_NEWS))

    def tell(self, provider: str, text: str) -> None:
        """What it reports, where its tools are used."""
        if provider in self.used:
            self.news.append(text)

    def clear(self) -> None:
        for it in (self.used, self.native, self.news):
            it.clear()
