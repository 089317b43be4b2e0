"""Files that belong to messages: how a message refers to one, and what the store that has them can do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Pictures that are taken and shown."""
_REFERENCE = re.compile(r"media:([a-z0-9.+-]+/[a-z0-9.+-]+):([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class MediaReference:
    """`type`: as the content says, never as anybody claims; `digest`: SHA-256 of the content."""

    type: str
    digest: str

    def __str__(self) -> str:
        """As it stands among the media of a message."""
        return f"media:{self.type}:{self.digest}"


def media_reference(text: str) -> MediaReference | None:
    """None where it is another kind of address."""
    found = _REFERENCE.fullmatch(text)
    return MediaReference(found[1], found[2]) if found else None


class MediaRefused(Exception):
    """A file that is not taken; the text says why."""


class MediaFull(MediaRefused):
    """There is no room for it, for this user or at all."""


class MediaStore(Protocol):
    """Files by what is in them."""

    async def keep(self, content: bytes, by: str = "") -> MediaReference:
        """It is on the disk when this returns, and counts as this user's; of nobody's, all that there is room for is
        taken. Raises MediaRefused and StoreFailed."""
        ...

    async def is_of(self, digest: str, user: str) -> bool:
        """Whether it is there, and counts as this user's: sent by them, or kept for a chat of theirs. Raises
        StoreFailed."""
        ...

    async def read(self, digest: str) -> tuple[str, bytes] | None:
        """Its type and content. Raises StoreFailed."""
        ...
