"""Files that go to a client of OpenAI's API, which knows none: the text says which they are, and they stay here."""

from __future__ import annotations

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Outbound
from hookgate.protocol.chat.media import MediaStore, media_reference
from hookgate.protocol.dataclasses import replace


async def with_files_named(outbound: Outbound, store: MediaStore) -> Outbound:
    """A line for each: its name and size, or where it lies."""
    lines = [await _line(url, store) for url in outbound.media]
    return replace(outbound, text="\n".join(filter(None, (outbound.text, *lines))), media=()) if lines else outbound


async def _line(url: str, store: MediaStore) -> str:
    reference = media_reference(url)
    if reference is None:
        return url if url.startswith(("https://", "http://")) else "[a file that could not be stored]"
    try:
        size = await store.size(reference.digest)
    except StoreFailed:
        size = None
    told = "which is not there any more" if size is None else f"{size} bytes, which stays at the gateway"
    return f"[{reference.name or reference.type}: a file, {told}]"
