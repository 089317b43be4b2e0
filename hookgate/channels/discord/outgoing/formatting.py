"""Markdown as Discord reads it: sent as it is, but for what Discord does not know or takes for something else. Pure.

Longer than it takes, it is sent as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from hookgate.channels.platforms.markdown import RULE, clean, parsed

if TYPE_CHECKING:
    from markdown_it.token import Token

MOST_HEADING = 3
"""Of smaller ones it knows nothing."""
FENCE = "```"
JOINED = "`\u200b"
"""As it looks, but no part of a fence."""
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:[^`]|(?!\1(?!`))`+)*?(?<!`)\1(?!`)")
"""Code in a line."""
_IMAGE = re.compile(r"!(?=\[[^\[\]\n]*\]\()")
_BOLD = re.compile(r"(?<![\w\\_])__(?=[^\s_])(.{1,500}?)(?<=[^\s_])__(?![\w_])")
_HEADING = re.compile(r"[ \t]*#+[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_SIGNS = re.compile(r"[\\*_~|`<\[\]]|^(?=[#>-])|^(?=\d+\.)", re.MULTILINE)


def formatted(markdown: str, most: int) -> str:
    plain = clean(markdown).strip("\n").rstrip()
    lines = plain.split("\n")
    acts: dict[str, Callable[[list[str], Token], list[str]]] = {
        "table_open": _fenced,
        "code_block": _fenced,
        "heading_open": _heading,
        "hr": lambda _lines, _token: [RULE],
        "fence": lambda lines, _token: lines,
    }
    shown, at = list[str](), 0
    for token in parsed(plain):
        if token.map is None or token.type not in acts or token.level or token.map[0] < at:
            continue
        start, end = token.map
        shown += _inline(lines[at:start])
        shown += acts[token.type](lines[start:end], token)
        at = end
    text = "\n".join([*shown, *_inline(lines[at:])]).rstrip()
    return text if text and len(text) <= most else plain


def escaped(text: str) -> str:
    """As plain text: nothing in it means anything."""
    return _SIGNS.sub(lambda it: f"\\{it[0]}", text)


def _fenced(lines: list[str], _token: Token) -> list[str]:
    """A table, or code that is one by its indentation: it knows neither."""
    body = "\n".join(lines).rstrip().replace("`", JOINED).split("\n")
    is_code = all(it.startswith("    ") or not it.strip() for it in body)
    blank = [""] * (len(lines) - len(body))
    return [FENCE, *(it[4:] if is_code else it for it in body), FENCE, *blank]


def _heading(lines: list[str], token: Token) -> list[str]:
    found = _HEADING.match(lines[0])
    if found is None:
        # Underlined.
        return [f"{token.tag.replace('h1', '#').replace('h2', '##')} {' '.join(it.strip() for it in lines[:-1])}"]
    return lines if len(token.markup) <= MOST_HEADING else [f"**{found[1]}**"]


def _inline(lines: list[str]) -> list[str]:
    """Code stays as it is. Bars are no spoiler, underlines no underline, and an image is a link."""
    text, parts, at = "\n".join(lines), list[str](), 0
    for span in _SPAN.finditer(text):
        parts += (_replaced(text[at : span.start()]), span[0])
        at = span.end()
    return "".join([*parts, _replaced(text[at:])]).split("\n") if lines else []


def _replaced(text: str) -> str:
    return _BOLD.sub(r"**\1**", _IMAGE.sub("", text)).replace("||", "\\|\\|")
