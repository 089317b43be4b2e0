"""Files of a message on its way out: their types and contents, wherever they are. Knows no platform."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Sequence

from hookgate.protocol.media import MediaStore, media_reference

File = tuple[str, bytes]
"""Its type and content."""


async def read_files(store: MediaStore, media: Sequence[str], most: int) -> tuple[list[File], list[str]]:
    """And a line for each that cannot be attached: `most` bytes are too many, or it lies elsewhere. Raises
    StoreFailed."""
    files, notes = list[File](), list[str]()
    for url in media:
        reference = media_reference(url)
        found = await store.read(reference.digest) if reference is not None else _inline(url)
        if found is not None and len(found[1]) <= most:
            files.append(found)
        elif url.startswith(("https://", "http://")):
            notes.append(url)
        else:
            notes.append("[an attached file cannot be sent]")
    return files, notes


def filename(number: int, type_: str) -> str:
    return f"file{number}{mimetypes.guess_extension(type_) or '.bin'}"


def _inline(url: str) -> File | None:
    """Of a data: URL."""
    head, comma, body = url.partition(",")
    type_ = head.removeprefix("data:").removesuffix(";base64")
    if not (comma and head.startswith("data:") and head.endswith(";base64") and "/" in type_):
        return None
    try:
        return type_, base64.b64decode(body, validate=True)
    except binascii.Error:
        return None
