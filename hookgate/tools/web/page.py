"""HTML to the text that a reader sees. Pure.

One pass over the text: the standard library's parser needs time that grows with the square of some broken
pages (20 s for 60 KB of unclosed tags), and pages come from anybody.
"""

from __future__ import annotations

import re
from html import unescape

from hookgate.protocol.dataclasses import dataclass

_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9:-]{0,40})")
_BLANKS = re.compile(r"[ \t\r\f\v\u00a0]+")
_EMPTY_LINES = re.compile(r"\n(?: ?\n)+")
_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object"})
_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|img|ins|kbd|label|mark|q|s|samp|small|span|strike|strong|sub"
    "|sup|time|tt|u|var|wbr"
)


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    text: str


def read_page(html: str) -> Page:
    """Title and text; scripts, styles and markup are gone, blocks end lines."""
    title, parts, position = "", list[str](), 0
    while True:
        start = html.find("<", position)
        if start < 0:
            parts.append(html[position:])
            break
        parts.append(html[position:start])
        tag = _TAG.match(html, start)
        if tag is None:
            markup, position = _past_other(html, start)
            parts.append(markup)
            continue
        name, closing = tag[1].lower(), html.startswith("</", start)
        position = _past(html, ">", tag.end())
        if not closing and name in _UNSEEN:
            position = _past_element(html, name, position)[1]
        elif not closing and name == "title":
            found, position = _past_element(html, name, position)
            title = title or found
        elif not _INLINE.fullmatch(name):
            parts.append(_mark(name, closing))
    return Page(_tidy(unescape(title)).replace("\n", " "), _tidy(unescape(_joined(parts))))


def _past(html: str, end: str, position: int) -> int:
    """After the next `end`, or at the end of the text: what never closes swallows the rest, once."""
    found = html.find(end, position)
    return len(html) if found < 0 else found + len(end)


def _past_other(html: str, start: int) -> tuple[str, int]:
    """A comment or declaration is passed over; any other `<` is text."""
    if html.startswith("<!--", start):
        return "", _past(html, "-->", start + 4)
    if html.startswith(("<!", "<?", "</"), start):
        return "", _past(html, ">", start)
    return "<", start + 1


def _past_element(html: str, name: str, position: int) -> tuple[str, int]:
    """What stands inside an element whose content is no markup, and where it ends."""
    closing = re.compile(f"</{name}", re.IGNORECASE).search(html, position)
    if closing is None:
        return html[position:], len(html)
    return html[position : closing.start()], _past(html, ">", closing.end())


def _mark(name: str, closing: bool) -> str:
    if name == "li" and not closing:
        return "\0- "
    return " " if name in ("td", "th") else "\0"


def _joined(parts: list[str]) -> str:
    """Line breaks of the source are blanks; only blocks, marked with NUL until here, end lines."""
    return "".join(
        part if part.startswith("\0") else part.replace("\0", "").replace("\n", " ") for part in parts
    ).replace("\0", "\n")


def _tidy(text: str) -> str:
    lines = _BLANKS.sub(" ", text).replace("\n ", "\n").replace(" \n", "\n")
    return _EMPTY_LINES.sub("\n\n", lines).strip()
