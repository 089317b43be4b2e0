"""Which tools have called each other up to the running task: an extension's own calls end somewhere."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_CHAIN: ContextVar[tuple[str, ...]] = ContextVar("chain", default=())


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
