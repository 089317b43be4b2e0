"""Functions that hear of each change, in the order in which they began to listen. Knows nothing of what changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

_log = structlog.get_logger(__name__)

T = TypeVar("T")


class Listeners(Generic[T]):
    def __init__(self) -> None:
        self._heard: dict[object, Callable[[T], None]] = {}

    def add(self, listener: Callable[[T], None]) -> Callable[[], None]:
        """Returns the function that ends it; calling that twice does no harm."""
        key = object()
        self._heard[key] = listener
        return lambda: _forget(self._heard, key)

    def tell(self, change: T) -> None:
        """The change has happened: a listener that raises is logged, and the others hear of it all the same."""
        for listener in tuple(self._heard.values()):
            try:
                listener(change)
            except Exception:
                _log.exception("listener_failed", change=change)


def _forget(heard: dict[object, Callable[[T], None]], key: object) -> None:
    heard.pop(key, None)
