"""What is known of a model: how much it reads and writes, and what that costs. Pure."""

from __future__ import annotations

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Usage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens. A cache price that nobody gave is that of plain input."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float | None = None
    cache_write: float | None = None

    def cost(self, usage: Usage) -> float:
        """US dollars."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        parts = (
            usage.fresh_tokens * self.input,
            usage.cached_tokens * read,
            usage.cache_write_tokens * write,
            usage.completion_tokens * self.output,
        )
        return sum(parts) / MILLION


@dataclass(frozen=True, slots=True)
class Model:
    """`name` is PROVIDER/MODEL. Tokens, 0 where nobody knows; None for prices that nobody knows. `reasoning`:
    whether it thinks, None where nobody knows; `pictures`: it sees them."""

    name: str
    context_window: int = 0
    max_output: int = 0
    reasoning: bool | None = None
    prices: Prices | None = None
    pictures: bool = True

    @property
    def provider(self) -> str:
        return self.name.partition("/")[0]

    @property
    def id(self) -> str:
        return self.name.partition("/")[2]
