"""Files that belong to messages: how a message refers to one, or holds it; what the store that has them can do."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Protocol
from urllib.parse import quote, unquote

from hookgate.protocol.dataclasses import dataclass

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Pictures that are taken and shown."""
MAX_NAME = 120
_REFERENCE = re.compile(r"media:([a-z0-9.+-]+/[a-z0-9.+-]+):([0-9a-f]{64})(?::([A-Za-z0-9%._~-]{1,1500}))?")
_INLINE = re.compile(r"data:([a-z0-9.+-]+/[a-z0-9.+-]+)((?:;[^,;]*)*);base64,", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MediaReference:
    """`type`: as the content says, never as anybody claims; `digest`: SHA-256 of the content; `name`: what somebody
    calls it, or empty."""

    type: str
    digest: str
    name: str = ""

    def __str__(self) -> str:
        """As it stands among the media of a message."""
        return f"media:{self.type}:{self.digest}" + (f":{quote(self.name, safe='')}" if self.name else "")


def media_reference(text: str) -> MediaReference | None:
    """None where it is another kind of address."""
    found = _REFERENCE.fullmatch(text)
    return MediaReference(found[1], found[2], file_name(unquote(found[3] or ""))) if found else None


def file_name(name: str) -> str:
    """The last part of it, which leads nowhere, without what cannot be seen."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(it for it in last if it.isprintable()).strip(". ")[-MAX_NAME:]


@dataclass(frozen=True, slots=True)
class Inline:
    """A file that a `data:` URL holds; `type` is what the URL claims."""

    type: str
    content: bytes
    name: str = ""


def inline(url: str) -> Inline | None:
    """What a `data:` URL in base64 holds, `;name=` included; None where it is another address, or damaged."""
    found = _INLINE.match(url)
    if found is None:
        return None
    names = [it.partition("=")[2] for it in found[2].split(";") if it.startswith("name=")]
    try:
        content = b64decode(url[found.end() :], validate=True)
    except ValueError:
        return None
    return Inline(found[1].lower(), content, file_name(unquote(names[0])) if names else "")


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

    async def size(self, digest: str) -> int | None:
        """Bytes; None: it is not there. Raises StoreFailed."""
        ...
