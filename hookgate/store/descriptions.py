"""Descriptions that outlive a run: the store's, and who must hear when they change. Knows no tool and no registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import structlog

from hookgate.store.store import Store
from hookgate.store.without import Without

log = structlog.get_logger("hookgate.store")

Subscriber = Callable[[int], None]
"""Called with the new revision, after the change, in the order of subscription; must not wait."""


class StoredDescriptions:
    """Reads from memory; a change is on disk before it counts. Every change raises StoreFailed or is whole."""

    def __init__(self, store: Store | Without) -> None:
        self._store = store
        self._subscribers: list[Subscriber] = []
        self._told = store.revision

    @property
    def revision(self) -> int:
        """Rises with every change, whichever process made it, and never falls."""
        return self._store.revision

    def get(self, name: str) -> str | None:
        """The text that stands instead of this tool's own description."""
        row = self._store.descriptions.get(name)
        return row.text if row is not None else None

    async def set(self, name: str, text: str, by: str = "operator") -> int:
        """The revision after it; the text that it has already is no change. Raises ValueError for a blank one."""
        return await self._changed({name: _checked(text)}, by)

    async def delete(self, name: str, by: str = "operator") -> int:
        return await self._changed({name: None}, by)

    async def load(self, texts: Mapping[str, str], by: str = "operator") -> int:
        """These texts and no others, as one change."""
        checked = {name: _checked(text) for name, text in texts.items()}
        await self._store.replace_descriptions(checked, by)
        return self._tell()

    async def refresh(self) -> int:
        """Take over what other processes wrote."""
        await self._store.refresh()
        return self._tell()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Returns the function that ends it."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    async def _changed(self, texts: Mapping[str, str | None], by: str) -> int:
        await self._store.change_descriptions(texts, by)
        return self._tell()

    def _tell(self) -> int:
        revision = self._store.revision
        if revision != self._told:
            self._told = revision
            for subscriber in tuple(self._subscribers):
                _heard(subscriber, revision)
        return revision


def _checked(text: str) -> str:
    if not text.strip():
        raise ValueError("a description must not be blank")
    return text


def _heard(subscriber: Subscriber, revision: int) -> None:
    try:
        subscriber(revision)
    except Exception:  # the change has happened: the other subscribers must hear of it
        log.exception("description_subscriber_failed", revision=revision)
