"""What a channel can take and what people there get to see, as values. Knows no channel and no configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Busy = Literal["queue", "steer", "reject"]
"""What becomes of a message while a turn runs: it waits for one of its own, joins that turn, or is refused."""
TextUnit = Literal["chars", "utf16", "bytes"]


@dataclass(frozen=True, slots=True)
class ChannelPolicy:
    """As in a channel with one person who reads along; a chat with other people shows less of errors.

    `show_tools`: what tools do; `show_denials`: which calls were refused, and why; `show_errors`: what a provider
    says of its failure, or the class of it alone.
    """

    busy: Busy = "queue"
    show_tools: bool = True
    show_denials: bool = False
    show_errors: Literal["class", "full"] = "full"


@dataclass(frozen=True, slots=True)
class ChannelLimits:
    """`longest`: of one message's text, in `unit`; 0: none."""

    longest: int = 0
    unit: TextUnit = "chars"


UNLIMITED = ChannelLimits()


class Undelivered(Exception):
    """A message did not get there. `retry_after_s`: as the platform asks; `final`: another try is of no use."""

    def __init__(self, why: str, retry_after_s: float | None = None, *, final: bool = False) -> None:
        super().__init__(why)
        self.why, self.retry_after_s, self.final = why, retry_after_s, final
