"""What a conversation carries from turn to turn beside its messages. In memory alone: nobody has said it."""

from __future__ import annotations

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
    news: list[str] = field(default_factory=list[str])

    def tell(self, provider: str, text: str) -> None:
        """What it reports, where its tools are used."""
        if provider in self.used:
            self.news.append(text)
            del self.news[:-MAX_NEWS]

    def clear(self) -> None:
        for it in (self.used, self.native, self.news):
            it.clear()
