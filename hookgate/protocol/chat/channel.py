"""What a channel can take, how it is, and what people there get to see, as values. Knows no channel and no
configuration."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Literal

from hookgate.protocol.dataclasses import dataclass, replace

if TYPE_CHECKING:
    from hookgate.protocol.chat import Chat

Busy = Literal["queue", "steer", "reject"]
"""What becomes of a message while a turn runs: it waits for one of its own, joins that turn, or is refused."""
Reception = Literal["receiving", "elsewhere", "degraded", "down"]
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
    """`longest`: of one message's text, in `unit`; 0: none. `edit_s`: at least so long between two changes of a
    chat's messages, in a group `group_edit_s` (None: the same); without `edit_s` no message can be changed.
    `buttons`: of one message; 0: it can have none. `media_in`, `media_out`: bytes of a file that comes or goes; 0:
    any. `media_s`: how long it may take to bring a message with files, where that is longer than for any other."""

    longest: int = 0
    unit: TextUnit = "chars"
    edit_s: float | None = None
    group_edit_s: float | None = None
    buttons: int = 0
    media_in: int = 0
    media_out: int = 0
    media_s: float = 0.0

    def pace_s(self, chat: Chat) -> float:
        """How long nothing more goes to this chat after a preview."""
        in_group = chat.chat_type != "direct" and self.group_edit_s is not None
        return (self.group_edit_s if in_group else self.edit_s) or 0.0


UNLIMITED = ChannelLimits()


@dataclass(frozen=True, slots=True)
class ChannelState:
    """How a channel is, by its own honest word.

    `state`: `receiving`, what it listens to has just answered; `elsewhere`, another gateway has its connection, and
    this one brings what is to be sent; `degraded`, it works in part, or is on its way back by
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


def unwatched(_session: str) -> AbstractContextManager[None]:
    """For a channel whose people nobody else has to know of."""
    return nullcontext()
