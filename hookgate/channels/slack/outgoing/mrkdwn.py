"""Markdown becomes Slack's mrkdwn. Pure.

Whatever somebody writes mentions nobody and makes no link but its own: Slack's three signs are escaped everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hookgate.channels.platforms.markdown import Blocks, clean, parsed
from hookgate.protocol.dataclasses import dataclass

if TYPE_CHECKING:
    from markdown_it.token import Token

MARKS: Mapping[str, str] = {"strong": "*", "em": "_", "s": "~"}
LINKED = ("http", "https", "mailto")
JOINT = "\u200b"
"""Between a letter and a mark beside it, which is none to Slack without."""


def mrkdwn(markdown: str) -> str:
    """As it was written, escaped, where nothing of it would be left."""
    markdown = clean(markdown)
    writing = _Writing()
    _Blocks(writing, markdown).write(parsed(markdown))
    return "".join(writing.parts).rstrip() or escaped(markdown.strip())


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@dataclass
class _Writing:
    """Text as it grows. `gap`: line ends that are owed before the next character; `indent`: what each line begins
    with."""

    parts: list[str] = field(default_factory=list[str])
    gap: int = 0
    indent: str = ""
    _before: str = ""

    def owe(self, lines: int) -> None:
        self.gap = max(self.gap, lines) if self.parts else 0

    def add(self, text: str) -> None:
        if not text:
            return
        if self.gap:
            # A blank line belongs to what is round both of its neighbours.
            blank = min(self.indent, self._before, key=len).rstrip()
            self.parts.append(f"\n{blank}" * (self.gap - 1) + f"\n{self.indent}")
            self.gap = 0
        elif not self.parts:
            self.parts.append(self.indent)
        self.parts.append(text.replace("\n", f"\n{self.indent}"))
        self._before = self.indent

    @property
    def last(self) -> str:
        return self.parts[-1][-1:] if self.parts and not self.gap else ""


class _Blocks(Blocks):
    step = "    "

    def __init__(self, writing: _Writing, markdown: str) -> None:
        super().__init__(writing, markdown)
        self._out = writing
        self._around: list[str] = []
        self._in_heading = False

    def inline(self, tokens: Sequence[Token]) -> None:
        _Inline(self._out, is_bold=self._in_heading).write(tokens)

    def heading(self, *, opens: bool) -> None:
        self._in_heading = opens

    def quote(self, *, opens: bool) -> None:
        if opens:
            self._around.append(self._out.indent)
            self._out.indent += "> "
        else:
            self._out.indent = self._around.pop()

    def code(self, body: str, language: str) -> None:
        self._out.add(f"```\n{_uncut(body)}\n```")


class _Inline:
    """`is_bold`: all of it, so that nothing in it need be."""

    def __init__(self, writing: _Writing, *, is_bold: bool) -> None:
        self._out, self._is_bold = writing, is_bold
        self._link: str | None = None
        self._label: list[str] = []
        self._open: list[str] = []

    def write(self, tokens: Sequence[Token]) -> None:
        if self._is_bold and tokens:
            self._out.add("*")
        for token in tokens:
            self._write(token)
        if self._is_bold and tokens:
            self._out.add("*")

    def _write(self, token: Token) -> None:
        name = token.type.removesuffix("_open").removesuffix("_close")
        match token.type:
            case "text" | "html_inline":
                self._put(escaped(token.content))
            case "softbreak" | "hardbreak":
                self._put(" " if self._link is not None or self._is_bold else "\n")
            case "code_inline":
                self._put(f"`{escaped(token.content)}`" if self._link is None else escaped(token.content))
            case "image":
                self._put(_linked(str(token.attrs.get("src", "")), escaped(token.content or "image")))
            case "link_open":
                self._link, self._label = str(token.attrs.get("href", "")), []
            case "link_close":
                url, self._link = self._link or "", None
                self._put(_linked(url, "".join(self._label)))
            case _ if name in MARKS and self._link is None and not (name == "strong" and self._is_bold):
                self._mark(MARKS[name], opens=token.nesting > 0)
            case _:
                pass

    def _mark(self, mark: str, *, opens: bool) -> None:
        if opens:
            self._put(JOINT if self._out.last.isalnum() else "")
            self._put(mark)
        else:
            self._put(mark)
            self._open.append(mark)

    def _put(self, text: str) -> None:
        if not text:
            return
        if self._link is not None:
            self._label.append(text)
            return
        if self._open and text[0].isalnum():
            self._out.add(JOINT)
        self._open.clear()
        self._out.add(text)


def _uncut(code: str) -> str:
    """What would end its fence is joined otherwise."""
    return escaped(code).replace("```", f"`{JOINT}``")


def _linked(url: str, label: str) -> str:
    """What leads nowhere that a chat can open is written out."""
    try:
        found = urlsplit(url)
        is_linked = found.scheme in LINKED and bool(found.netloc or found.scheme == "mailto")
    except ValueError:
        is_linked = False
    if not is_linked:
        return f"{label} ({escaped(url)})".lstrip() if url and escaped(url) != label else label
    address = escaped(url).replace("|", "%7C").replace("\n", "")
    return f"<{address}>" if label in (address, "") else f"<{address}|{label.replace('|', '¦')}>"
