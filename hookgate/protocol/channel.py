"""What a channel can take, how it is, and what people there get to see, as values. Knows no channel and no
configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Busy = Literal["queue", "steer", "reject"]
"""What becomes of a message while a turn runs: it waits for one of its own, joins that turn, or is refused."""
Reception = Literal["receiving", "degraded", "down"]
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


@dataclass(frozen=True, slots=True)
class ChannelState:
    """How a channel is, by its own honest word.

    `state`: `receiving`, what it listens to has just answered; `degraded`, it works in part, or is on its way back by
    itself; `down`, nothing comes in. `since`: seconds of the wall clock; 0: from its start. `why`: one line for an
    operator, that names what only a person can mend; empty where all is well.
    """

    state: Reception = "receiving"
    since: float = 0.0
    why: str = ""

    def become(self, state: Reception, why: str, now: float) -> ChannelState:
        """`since` is when it came to be so, however the reason changes meanwhile."""
        return replace(self, why=why) if state == self.state else ChannelState(state, now, why)


PRESENT = ChannelState()
"""Of a channel that is there as long as this program is."""


class Undelivered(Exception):
    """A message did not get there. `retry_after_s`: as the platform asks; `final`: another try is of no use."""

    def __init__(self, why: str, retry_after_s: float | None = None, *, final: bool = False) -> None:
        super().__init__(why)
        self.why, self.retry_after_s, self.final = why, retry_after_s, final
