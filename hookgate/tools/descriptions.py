"""Texts that stand instead of tools' own descriptions, with a revision that only rises. Knows no tool and no disk.

The registry reads them when it builds a snapshot, so that a model call under way keeps what it began with.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Protocol

import trio

from hookgate.tools.listeners import Listeners

Changes = Mapping[str, str | None]
"""Texts by tool name; None takes one away."""
Persist = Callable[[Changes, str], Awaitable[object]]
"""Keeps the changes that somebody (the second argument) makes, or raises and keeps none of them."""
Subscriber = Callable[[int], None]
"""Called with the new revision, after the change, in the order of subscription; must not wait."""


class DescriptionStore(Protocol):
    """Reading is from memory. Every change returns the revision after it; one that changes nothing is no change.

    A name need not be a tool's yet. A blank text is a ValueError.
    """

    @property
    def revision(self) -> int: ...

    def get(self, name: str) -> str | None: ...

    async def set(self, name: str, text: str, by: str = "operator") -> int: ...

    async def delete(self, name: str, by: str = "operator") -> int: ...

    async def load(self, texts: Mapping[str, str], by: str = "operator") -> int:
        """These texts and no others, as one change."""
        ...

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Returns the function that ends it."""
        ...


class MemoryDescriptions:
    """Starts with what was kept, at the revision it had. With `persist` a change is kept first and counts then."""

    def __init__(
        self,
        texts: Mapping[str, str] = MappingProxyType({}),
        *,
        revision: int = 0,
        persist: Persist | None = None,
    ) -> None:
        self._texts = dict(texts)
        self._revision = revision
        self._persist = persist
        self._subscribers = Listeners[int]()
        # Memory must go through the same order of changes as whatever keeps them.
        self._changing = trio.Lock()

    @property
    def revision(self) -> int:
        return self._revision

    def get(self, name: str) -> str | None:
        return self._texts.get(name)

    async def set(self, name: str, text: str, by: str = "operator") -> int:
        return await self._change({name: _checked(name, text)}, by)

    async def delete(self, name: str, by: str = "operator") -> int:
        return await self._change({name: None}, by)

    async def load(self, texts: Mapping[str, str], by: str = "operator") -> int:
        wanted = {name: _checked(name, text) for name, text in texts.items()}
        return await self._change(wanted, by, whole=True)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        return self._subscribers.add(subscriber)

    async def _change(self, wanted: Changes, by: str, *, whole: bool = False) -> int:
        async with self._changing:
            gone = dict.fromkeys(self._texts.keys() - wanted.keys()) if whole else {}
            changes = {name: text for name, text in (*gone.items(), *wanted.items()) if text != self._texts.get(name)}
            if not changes:
                return self._revision
            if self._persist is not None:
                await self._persist(changes, by)
            kept = {**self._texts, **changes}
            self._texts = {name: text for name, text in kept.items() if text is not None}
            self._revision += 1
            revision = self._revision
        self._subscribers.tell(revision)
        return revision


def _checked(name: str, text: str) -> str:
    if not text.strip():
        raise ValueError(f"the description of {name} must not be blank")
    return text
