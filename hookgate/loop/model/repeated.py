"""Whether a call in a model's text is one that somebody else wrote: it stood in a message or a tool's result before.

Compared by letters alone, so that quotation marks, line numbers, wrapping and escapes make no difference.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import trio

from hookgate.protocol.values import Message

_ESCAPED = re.compile(r"\\++u([0-9a-fA-F]{4})")
_NO_LETTERS = re.compile(
    r"&(?:amp;)*+(?:lt|gt|quot|apos|nbsp|amp|#\w{1,6});|\\++[nrtbf]|(?:[^\w\\&]|[\d_])++|[\\&]", re.IGNORECASE
)


async def is_repeated(written: Iterable[str], messages: Iterable[Message]) -> bool:
    """Whether a user or a tool said any of it. Linear in the conversation, and lets others in meanwhile."""
    sought = [_letters(piece) for piece in written]
    if not sought:
        return False
    heard = dict.fromkeys(message.content for message in messages if message.role in ("user", "tool"))
    for text in heard:
        letters = await trio.to_thread.run_sync(_letters, text, abandon_on_cancel=True)
        if any(piece in letters for piece in sought):
            return True
    return False


def _letters(text: str) -> str:
    plain = unicodedata.normalize("NFKC", _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), text))
    return _NO_LETTERS.sub("", plain).casefold()
