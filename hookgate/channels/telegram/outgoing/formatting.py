"""Markdown becomes a text with entities: nothing is escaped, so nothing can be escaped wrongly. Pure.

Never longer than it was written: what would be is shown as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hookgate.channels.platforms.markdown import Blocks, clean, parsed
from hookgate.channels.platforms.units import units
from hookgate.channels.telegram.entities import Span, cut
from hookgate.protocol.dataclasses import dataclass, replace

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_SPANS = 100
"""Of more the platform takes the first ones."""
INLINE: Mapping[str, str] = {"strong": "bold", "em": "italic", "s": "strikethrough"}
LINKED = ("http", "https")


@dataclass(frozen=True, slots=True)
class Formatted:
    text: str
    spans: tuple[Span, ...] = ()

    @property
    def entities(self) -> list[dict[str, str | int]]:
        return [it.members for it in self.spans]

    def followed_by(self, text: str) -> Formatted:
        return Formatted(self.text + text, self.spans)


def formatted(markdown: str) -> Formatted:
    """Plain where nothing of it would be left, or it would be longer."""
    writing = _Writing()
    markdown = clean(markdown)
    _Blocks(writing, markdown).write(parsed(markdown))
    shown = writing.done()
    plain = Formatted(markdown.strip())
    return shown if shown.text and units(shown.text) <= max(units(plain.text), 1) else plain


@dataclass
class _Writing:
    """Text as it grows. `gap`: line ends that are owed before the next character; `indent`: what each line begins
    with."""

    parts: list[str] = field(default_factory=list[str])
    spans: list[Span] = field(default_factory=list[Span])
    at: int = 0
    gap: int = 0
    indent: str = ""

    def owe(self, lines: int) -> None:
        self.gap = max(self.gap, lines) if self.at else 0

    def settle(self) -> int:
        """Where the next character stands."""
        if self.gap:
            self._put("\n" * self.gap + self.indent)
            self.gap = 0
        return self.at

    def add(self, text: str) -> None:
        if text:
            self.settle()
            self._put(text.replace("\n", f"\n{self.indent}"))

    def add_as(self, text: str, type_: str, language: str = "") -> None:
        """All of it one entity, and no line of it indented."""
        start = self.settle()
        self._put(text)
        self.span(Span(type_, start, 0, language=language))

    def span(self, begun: Span) -> None:
        """It ends here."""
        if self.at > begun.offset:
            self.spans.append(replace(begun, length=self.at - begun.offset))

    def done(self) -> Formatted:
        text = "".join(self.parts).rstrip()
        end = units(text)
        whole = (replace(it, length=min(it.length, end - it.offset)) for it in self.spans if it.offset < end)
        return Formatted(text, tuple(sorted(whole, key=lambda it: (it.offset, -it.length)))[:MAX_SPANS])

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self.at += units(text)


class _Blocks(Blocks):
    def __init__(self, writing: _Writing, markdown: str) -> None:
        super().__init__(writing, markdown)
        self._out = writing
        self._quotes = 0
        self._begun: list[Span] = []

    def inline(self, tokens: Sequence[Token]) -> None:
        _Inline(self._out).write(tokens)

    def heading(self, *, opens: bool) -> None:
        self._span("bold", opens=opens)

    def quote(self, *, opens: bool) -> None:
        """The platform has none within another."""
        self._quotes += 1 if opens else -1
        if self._quotes == (1 if opens else 0):
            self._span("blockquote", opens=opens)

    def code(self, body: str, language: str) -> None:
        self._out.add_as(body, "pre", language)

    def _span(self, type_: str, *, opens: bool) -> None:
        if opens:
            self._begun.append(Span(type_, self._out.settle(), 0))
        else:
            self._out.span(self._begun.pop())


class _Inline:
    def __init__(self, writing: _Writing) -> None:
        self._out = writing
        self._open: list[Span] = []
        self._link = ""
        self._link_at = 0

    def write(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            name = token.type.removesuffix("_open").removesuffix("_close")
            match token.type:
                case "text" | "html_inline":
                    self._out.add(token.content)
                case "softbreak" | "hardbreak":
                    self._out.add("\n")
                case "code_inline":
                    self._code(token.content)
                case "image":
                    self._linked(str(token.attrs.get("src", "")), token.content or "image")
                case "link_open":
                    self._link, self._link_at = str(token.attrs.get("href", "")), self._out.settle()
                case "link_close":
                    self._end_link()
                case _ if name in INLINE and token.nesting > 0:
                    self._open.append(Span(INLINE[name], self._out.settle(), 0))
                case _ if name in INLINE and token.nesting < 0 and self._open:
                    self._out.span(self._open.pop())
                case _:
                    pass

    def _code(self, content: str) -> None:
        """Code is no part of anything else: what is open round it ends before it and goes on behind."""
        if self._link:
            self._out.add(content)
            return
        for span in self._open:
            self._out.span(span)
        self._out.add_as(content, "code")
        self._open = [replace(it, offset=self._out.at) for it in self._open]

    def _linked(self, url: str, text: str) -> None:
        if self._link:
            self._out.add(text)
            return
        self._link, self._link_at = url, self._out.settle()
        self._out.add(text)
        self._end_link()

    def _end_link(self) -> None:
        """What leads nowhere that a chat can open is written out."""
        url, self._link = self._link, ""
        text = cut("".join(self._out.parts), self._link_at, self._out.at - self._link_at)
        if text == url:
            return
        if _is_linked(url):
            self._out.span(Span("text_link", self._link_at, 0, url=url))
        elif url:
            self._out.add(f" ({url})")


def _is_linked(url: str) -> bool:
    try:
        found = urlsplit(url)
    except ValueError:
        return False
    return found.scheme in LINKED and bool(found.netloc)
