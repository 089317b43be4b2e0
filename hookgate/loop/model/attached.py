"""Files that messages refer to become part of the one request that a provider is sent: pictures as such, others as a
line. Hooks and the journal see what is referred to. Knows no provider."""

from __future__ import annotations

from base64 import b64encode

import structlog

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat.media import IMAGES, MediaReference, MediaStore, media_reference
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values import LLMRequest, Message
from hookgate.tools.names import SEND_FILE

log = structlog.get_logger("hookgate.loop")

SHOWN = 200
"""Characters of an address."""
MAX_BYTES = 20_000_000
"""Of all pictures of one request: those of the last messages go."""


async def with_files(request: LLMRequest, store: MediaStore | None, *, sees: bool = True) -> LLMRequest:
    """A picture that is gone, or for which there is no room, is a line that says so; any other file, and a picture
    for a model that sees none, is one that says how it is called. Where the model can send files, it is told what to
    name a picture by, too."""
    if not any(media_reference(it) or not sees for message in request.messages for it in message.media):
        return request
    left, messages, sends = MAX_BYTES, list[Message](), request.tool(SEND_FILE) is not None
    for message in reversed(request.messages):
        attached, notes, missing = list[str](), list[str](), 0
        for url in message.media:
            reference = media_reference(url)
            if reference is None:
                if sees:
                    attached.append(url)
                else:
                    notes.append(f"[attached: {url.partition(',')[0][:SHOWN]}]")
                continue
            shown = sees and reference.type in IMAGES
            if sends or not shown:
                notes.append(f"[attached: {reference}]")
            if shown:
                found = await _read(reference, store, left)
                left -= len(found)
                missing += not found
                attached += [found] if found else []
        if missing:
            notes.append(f"[{missing} of the attached files cannot be sent any more]")
        messages.append(replace(message, content="\n".join((message.content, *notes)), media=tuple(attached)))
    return replace(request, messages=tuple(reversed(messages)))


async def _read(reference: MediaReference, store: MediaStore | None, most: int) -> str:
    """A data: URL; empty: it cannot be had."""
    try:
        found = await store.read(reference.digest) if store is not None else None
    except StoreFailed as error:
        log.warning("file_unread", file=str(reference), reason=str(error))
        return ""
    if found is None or len(found[1]) * 4 // 3 > most:
        return ""
    return f"data:{found[0]};base64,{b64encode(found[1]).decode()}"
