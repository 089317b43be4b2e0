"""Markdown becomes Slack's mrkdwn. Pure.

Whatever somebody writes mentions nobody and makes no link but its own: Slack's three signs are escaped everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hookgate.channels.platforms.markdown import clean, parsed

if TYPE_CHECKING:
    from markdown_it.token import Token

MARKS: Mapping[str, str] = {"strong": "*", "em": "_", "s": "~"}
LINKED = ("http", "https", "mailto")
RULE = "———"
JOINT = "\u200b"
"""Between a letter and a mark beside it, which is none to Slack without."""


def mrkdwn(markdown: str) -> str:
    """As it was written, escaped, where nothing of it would be left."""
    markdown = clean(markdown)
    writing = _Writing()
    _Blocks(writing, markdown.split("\n")).write(parsed(markdown))
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


@dataclass
class _List:
    """`number`: of the next item; 0: they have none. `before`: the indentation round it."""

    number: int
    before: str


class _Blocks:
    def __init__(self, writing: _Writing, source: Sequence[str]) -> None:
        self._out, self._source = writing, source
        self._lists: list[_List] = []
        self._around: list[str] = []
        self._in_table = self._in_heading = False

    def write(self, tokens: Sequence[Token]) -> None:
        acts: Mapping[str, Callable[[Token], None]] = {
            "paragraph_close": lambda it: self._out.owe(1 if it.hidden else 2),
            "heading_open": lambda _it: self._head(is_open=True),
            "heading_close": lambda _it: self._head(is_open=False),
            "fence": lambda it: self._code(it.content),
            "code_block": lambda it: self._code(it.content),
            "hr": self._rule,
            "blockquote_open": self._open_quote,
            "blockquote_close": self._close_quote,
            "bullet_list_open": lambda _it: self._lists.append(_List(0, self._out.indent)),
            "ordered_list_open": lambda it: self._lists.append(
                _List(int(it.attrs.get("start", 1)), self._out.indent)
            ),
            "bullet_list_close": self._close_list,
            "ordered_list_close": self._close_list,
            "list_item_open": self._item,
            "table_open": self._table,
            "table_close": self._end_table,
        }
        for token in tokens:
            if token.type == "inline" and not self._in_table:
                _Inline(self._out, is_bold=self._in_heading).write(token.children or ())
            elif (act := acts.get(token.type)) is not None:
                act(token)

    def _head(self, *, is_open: bool) -> None:
        self._in_heading = is_open
        if not is_open:
            self._out.owe(2)

    def _code(self, content: str) -> None:
        if body := content.rstrip("\n"):
            self._out.add(f"```\n{_uncut(body)}\n```")
        self._out.owe(2)

    def _rule(self, _token: Token) -> None:
        self._out.add(RULE)
        self._out.owe(2)

    def _open_quote(self, _token: Token) -> None:
        self._around.append(self._out.indent)
        self._out.indent += "> "

    def _close_quote(self, _token: Token) -> None:
        self._out.indent = self._around.pop()
        self._out.owe(2)

    def _item(self, _token: Token) -> None:
        around = self._lists[-1]
        mark = f"{around.number}. " if around.number else "• "
        around.number += bool(around.number)
        self._out.indent = around.before
        self._out.add(mark)
        self._out.indent = around.before + "    "

    def _close_list(self, _token: Token) -> None:
        self._out.indent = self._lists.pop().before
        self._out.owe(1 if self._lists else 2)

    def _table(self, token: Token) -> None:
        self._in_table = True
        if token.map:
            self._code("\n".join(self._source[slice(*token.map)]).rstrip())

    def _end_table(self, _token: Token) -> None:
        self._in_table = False
        self._out.owe(2)


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
        return f"{label} ({escaped(url)})" if url and escaped(url) != label else label
    address = escaped(url).replace("|", "%7C").replace("\n", "")
    return f"<{address}>" if label in (address, "") else f"<{address}|{label.replace('|', '¦')}>"
