"""For which chat the running task works, which tools have called each other up to it, and who keeps what a call has
come to that is cut short.

Who executes a tool says so: an extension's notes find their way by it, and its own calls end somewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from hookgate.protocol.chat import Chat
from hookgate.protocol.values import ToolResult

Keep = Callable[[ToolResult], object]
"""Takes what a call has come to that is cancelled in the middle; never waits, never raises."""

_CHAT: ContextVar[Chat | None] = ContextVar("chat", default=None)
_CHAIN: ContextVar[tuple[str, ...]] = ContextVar("chain", default=())
_KEEP: ContextVar[Keep] = ContextVar("keep", default=lambda _result: None)


class _Set:
    """Every call passes one, so it is no generator: that would cost several times as much."""

    __slots__ = ("_chat", "_keep", "_token")

    def __init__(self, chat: Chat, keep: Keep) -> None:
        self._chat, self._keep = chat, keep

    def __enter__(self) -> None:
        self._token = _CHAT.set(self._chat), _KEEP.set(self._keep)

    def __exit__(self, *_error: object) -> None:
        chat, keep = self._token
        _CHAT.reset(chat)
        _KEEP.reset(keep)


def working_for(chat: Chat, keep: Keep = lambda _result: None) -> AbstractContextManager[None]:
    """Inside, and in tasks started inside, `current_chat` is this one, and `keep` takes what is cut short."""
    return _Set(chat, keep)


def current_chat() -> Chat | None:
    return _CHAT.get()


def keep(result: ToolResult) -> None:
    """The running task's call is cut short, and this is as far as it has come."""
    _KEEP.get()(result)


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
