"""Attachments of a message as models can take them: pictures, or a line of text that stands for the rest. Pure."""

from __future__ import annotations

from hookgate.protocol.dataclasses import dataclass

SHOWN_URL = 200
"""Characters of an address that the model is told."""


@dataclass(frozen=True, slots=True)
class Picture:
    """`data` is base64 and `media_type` its type where the URL is a `data:` URL; both are empty for a link."""

    url: str
    media_type: str = ""
    data: str = ""


def parse_media(url: str) -> Picture | str:
    """A picture, or the note that tells the model what it cannot be shown."""
    if url.startswith(("http://", "https://")):
        return Picture(url)
    if not url.startswith("data:"):
        return f"[attachment: {url[:SHOWN_URL]}]"
    head, _, data = url.removeprefix("data:").partition(",")
    media_type, _, encoding = head.partition(";")
    if media_type.startswith("image/") and encoding.endswith("base64"):
        return Picture(url, media_type, data)
    return f"[attachment: {media_type or 'text/plain'}]"
