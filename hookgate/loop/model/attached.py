"""Files that messages refer to become part of the one request that a provider is sent; hooks and the journal see what
is referred to. Knows no provider."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import replace

import structlog

from hookgate.loop.execution_policy import Around
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat
from hookgate.protocol.media import MediaRefused, MediaStore, media_reference
from hookgate.protocol.values import LLMRequest, Message

log = structlog.get_logger("hookgate.loop")

MAX_BYTES = 20_000_000
"""Of all files of one request: those of the last messages go."""


async def with_files(request: LLMRequest, store: MediaStore | None) -> LLMRequest:
    """A file that is gone, or for which there is no room, is a line that says so."""
    if not any(media_reference(it) for message in request.messages for it in message.media):
        return request
    left, messages = MAX_BYTES, list[Message]()
    for message in reversed(request.messages):
        attached: list[str] = []
        missing = 0
        for url in message.media:
            found = url if media_reference(url) is None else await _read(url, store, left)
            left -= len(found) if found != url else 0
            missing += not found
            attached += [found] if found else []
        note = f"\n[{missing} of the attached files cannot be sent any more]" if missing else ""
        messages.append(replace(message, content=message.content + note, media=tuple(attached)))
    return replace(request, messages=tuple(reversed(messages)))


async def kept(urls: tuple[str, ...], around: Around, chat: Chat) -> tuple[str, ...]:
    """Pictures that a tool has returned, as whoever asks in the chat had sent them: in the store, and referred to.
    What the store does not take stays as it is."""
    if around.media is None or not around.keeps_pictures:
        return urls
    return tuple([await _kept(url, around.media, f"{chat.channel}:{chat.sender}") for url in urls])


async def _kept(url: str, store: MediaStore, by: str) -> str:
    head, _, data = url.partition(",")
    if not (head.startswith("data:image/") and head.endswith(";base64")):
        return url
    try:
        return str(await store.keep(b64decode(data, validate=True), by))
    except (ValueError, MediaRefused, StoreFailed) as error:
        log.warning("picture_not_kept", by=by, reason=str(error))
        return url


async def _read(url: str, store: MediaStore | None, most: int) -> str:
    """A data: URL; empty: it cannot be had."""
    reference = media_reference(url)
    try:
        found = await store.read(reference.digest) if store is not None and reference is not None else None
    except StoreFailed as error:
        log.warning("file_unread", file=url, reason=str(error))
        return ""
    if found is None or len(found[1]) * 4 // 3 > most:
        return ""
    return f"data:{found[0]};base64,{b64encode(found[1]).decode()}"
