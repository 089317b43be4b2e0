"""Files of messages, as they come and as they go: types, contents and names, wherever they are. Knows no platform."""

from __future__ import annotations

import mimetypes
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import trio

from hookgate.channels.platforms.message import Attachment, PlatformMessage
from hookgate.protocol.chat import Chat
from hookgate.protocol.chat.media import MediaRefused, MediaStore, file_name, inline, media_reference
from hookgate.protocol.dataclasses import replace

FETCH_TRIES, FETCH_PAUSE_S = 3, 1.0


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


class Unfetched(Exception):
    """A file that cannot be had. `again_s`: another try may have it in so many seconds; None: none will."""

    def __init__(self, why: str, again_s: float | None = None) -> None:
        super().__init__(why)
        self.again_s = again_s


async def keep_attachments(
    store: MediaStore, said: PlatformMessage, most: int, fetch: Callable[[Attachment], Awaitable[bytes]]
) -> tuple[tuple[str, ...], list[str]]:
    """The references to what somebody has sent, and a line for each file that is not taken: it has more than `most`
    bytes, or `fetch` raises Unfetched. Raises StoreFailed."""
    media, notes = list[str](), list[str]()
    for attachment in said.attachments:
        try:
            if attachment.size > most:
                raise MediaRefused(f"it has more than {most // 1_000_000} MB")
            content = await _fetched(attachment, fetch)
            media.append(await keep_attachment(store, said.chat, attachment, content))
        except (Unfetched, MediaRefused) as error:
            notes.append(f"[{attachment.kind}: not taken, {error}]")
    return tuple(media), notes


async def _fetched(attachment: Attachment, fetch: Callable[[Attachment], Awaitable[bytes]]) -> bytes:
    """Raises Unfetched."""
    for _ in range(FETCH_TRIES - 1):
        try:
            return await fetch(attachment)
        except Unfetched as error:
            if error.again_s is None:
                raise
            await trio.sleep(error.again_s)
    return await fetch(attachment)


async def keep_attachment(store: MediaStore, chat: Chat, attachment: Attachment, content: bytes) -> str:
    """The reference to what somebody has sent there: it counts as theirs. Raises MediaRefused and StoreFailed."""
    return str(replace(await store.keep(content, chat.user), name=file_name(attachment.name)))


def filename(number: int, file: File) -> str:
    return file.name or f"file{number}{mimetypes.guess_extension(file.type) or '.bin'}"
