"""Entities of a text: which of its characters are bold, a link, a mention, counted in UTF-16 units as the platform
counts. Pure."""

from __future__ import annotations

from hookgate.channels.platforms.units import units
from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """As it is sent: `url` of a text_link, `language` of a pre."""

    type: str
    offset: int
    length: int
    url: str = ""
    language: str = ""

    @property
    def members(self) -> dict[str, str | int]:
        more = {"url": self.url, "language": self.language}
        found: dict[str, str | int] = {"type": self.type, "offset": self.offset, "length": self.length}
        return found | {name: value for name, value in more.items() if value}


def cut(text: str, offset: int, length: int) -> str:
    """So many units of it; half a character is U+FFFD."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    return encoded[2 * offset : 2 * (offset + length)].decode("utf-16-le", "replace")


def without(text: str, offset: int, length: int) -> str:
    """All but these units."""
    return cut(text, 0, offset) + cut(text, offset + length, units(text))
