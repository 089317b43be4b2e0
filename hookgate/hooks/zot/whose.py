"""For which chat the running task works: who executes a tool says so, so that its notes find their way."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from hookgate.protocol.values import Chat

_CHAT: ContextVar[Chat | None] = ContextVar("chat", default=None)


@contextmanager
def working_for(chat: Chat) -> Generator[None]:
    """Inside, and in tasks started inside, `current_chat` is this one."""
    token = _CHAT.set(chat)
    try:
        yield
    finally:
        _CHAT.reset(token)


def current_chat() -> Chat | None:
    return _CHAT.get()
