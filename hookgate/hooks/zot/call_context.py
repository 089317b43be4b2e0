"""For which chat the running task works, and which tools have called each other up to it.

Who executes a tool says so: an extension's notes find their way by it, and its own calls end somewhere.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from hookgate.protocol.chat import Chat

_CHAT: ContextVar[Chat | None] = ContextVar("chat", default=None)
_CHAIN: ContextVar[tuple[str, ...]] = ContextVar("chain", default=())


def work_for(chat: Chat) -> None:
    """From here on, and in tasks started from here on, `current_chat` is this one."""
    _CHAT.set(chat)


def current_chat() -> Chat | None:
    return _CHAT.get()


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
