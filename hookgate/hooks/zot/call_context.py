"""For which chat the running task works, who keeps what it has come to where it is cut short, and which tools have
called each other up to it.

Who executes a tool says so: an extension's notes find their way by it, and its own calls end somewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from hookgate.protocol.chat import Chat
from hookgate.protocol.values import ToolResult

Keep = Callable[[ToolResult], object]
"""Takes what a call has come to that is cancelled in the middle; never waits, never raises."""

_WORK: ContextVar[tuple[Chat, Keep] | None] = ContextVar("work", default=None)
_CHAIN: ContextVar[tuple[str, ...]] = ContextVar("chain", default=())


def work_for(chat: Chat, keep: Keep = lambda _result: None) -> None:
    """From here on, and in tasks started from here on, `current_chat` is this one, and `keep` takes what is cut
    short."""
    _WORK.set((chat, keep))


def current_chat() -> Chat | None:
    work = _WORK.get()
    return work[0] if work is not None else None


def keep(result: ToolResult) -> None:
    """The running task's call is cut short, and this is as far as it has come."""
    if (work := _WORK.get()) is not None:
        work[1](result)


@contextmanager
def calling(tool: str) -> Generator[None]:
    """Inside, and in tasks started inside, this tool is the last of the chain; it joins it once."""
    chain = _CHAIN.get()
    token = _CHAIN.set(chain if chain[-1:] == (tool,) else (*chain, tool))
    try:
        yield
    finally:
        _CHAIN.reset(token)


def current_chain() -> tuple[str, ...]:
    """The tools that called each other, the one that works now last; none outside of a tool."""
    return _CHAIN.get()
