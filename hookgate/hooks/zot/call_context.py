"""For which chat the running task works, and which tools have called each other up to it.

Who executes a tool says so: an extension's notes find their way by it, and its own calls end somewhere.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from hookgate.protocol.chat import Chat

_CHAT: ContextVar[Chat | None] = ContextVar("chat", default=None)
_CHAIN: ContextVar[tuple[str, ...]] = ContextVar("chain", default=())


class _Set:
    """Every call passes one, so it is no generator: that would cost several times as much."""

    __slots__ = ("_chat", "_token")

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def __enter__(self) -> None:
        self._token = _CHAT.set(self._chat)

    def __exit__(self, *_error: object) -> None:
        _CHAT.reset(self._token)


def working_for(chat: Chat) -> AbstractContextManager[None]:
    """Inside, and in tasks started inside, `current_chat` is this one."""
    return _Set(chat)


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
