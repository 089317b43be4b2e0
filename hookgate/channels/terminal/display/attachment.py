"""A file that comes with a message, in the words of a terminal. Opens none."""

from __future__ import annotations

from hookgate.channels.printable import printable
from hookgate.protocol.chat.media import inline, media_reference


def attachment(url: str) -> str:
    """What it is; a file that a message holds is nothing that a terminal can show."""
    reference, held = media_reference(url), inline(url)
    if reference is not None:
        return f"{printable(reference.name) or 'a file'} ({reference.type}), which a terminal cannot show"
    if held is not None:
        name, size = printable(held.name) or "a file", len(held.content)
        return f"{name} ({held.type}, {size} bytes), which a terminal cannot show"
    return printable(url)[:200]
