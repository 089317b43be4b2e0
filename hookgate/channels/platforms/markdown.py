"""The Markdown that chats are shown: parsed once, rendered by each platform's channel."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


def parsed(markdown: str) -> list[Token]:
    """With tables and strikethrough; HTML is text."""
    if _parsers.parser is None:
        # Dear to import.
        from markdown_it import MarkdownIt

        _parsers.parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return _parsers.parser.parse(markdown)


def clean(markdown: str) -> str:
    """Half a character is none that could be sent; a line has one kind of end."""
    markdown = markdown.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return markdown.replace("\r\n", "\n").replace("\r", "\n")


class _Parsers(threading.local):
    parser: MarkdownIt | None = None


_parsers = _Parsers()
