"""Files of messages, as they come and as they go: types, contents and names, wherever they are. Knows no platform."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from typing import NamedTuple

from hookgate.channels.platforms.said import Attachment
from hookgate.protocol.chat import Chat
from hookgate.protocol.chat.media import MediaStore, file_name, inline, media_reference
from hookgate.protocol.dataclasses import replace


class File(NamedTuple):
    """`name`: what somebody calls it, or empty."""

    type: str
    content: bytes
    name: str = ""


async def read_files(store: MediaStore, media: Sequence[str], most: int) -> tuple[list[File], list[str]]:
    """And a line for each that cannot be attached: `most` bytes are too many, or it lies elsewhere. Raises
    StoreFailed."""
    files, notes = list[File](), list[str]()
    for url in media:
        found = await _read(store, url)
        if found is not None and len(found.content) <= most:
            files.append(found)
        elif url.startswith(("https://", "http://")):
            notes.append(url)
        else:
            notes.append("[an attached file cannot be sent]")
    return files, notes


async def _read(store: MediaStore, url: str) -> File | None:
    reference = media_reference(url)
    if reference is None:
        held = inline(url)
        return File(held.type, held.content, held.name) if held is not None else None
    found = await store.read(reference.digest)
    return File(*found, reference.name) if found is not None else None


async def keep_attachment(store: MediaStore, chat: Chat, attachment: Attachment, content: bytes) -> str:
    """The reference to what somebody has sent there: it counts as theirs. Raises MediaRefused and StoreFailed."""
    return str(replace(await store.keep(content, chat.user), name=file_name(attachment.name)))


def filename(number: int, file: File) -> str:
    return file.name or f"file{number}{mimetypes.guess_extension(file.type) or '.bin'}"
