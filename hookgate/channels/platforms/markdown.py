"""The Markdown that chats are shown: parsed once, rendered by each platform's channel."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from hookgate.protocol.dataclasses import dataclass

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

RULE = "———"


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


class Growing(Protocol):
    """A text as it grows. `indent`: what each line begins with."""

    indent: str

    def owe(self, lines: int) -> None:
        """So many line ends before the next character."""
        ...

    def add(self, text: str) -> None: ...


@dataclass
class _List:
    """`number`: of the next item; 0: they have none. `before`: the indentation round it."""

    number: int
    before: str


class Blocks(ABC):
    """Paragraphs, lists and all that stands on lines of its own, in their order; a platform says how some of it
    looks. `step`: how far what belongs to an item of a list is moved in."""

    step = "  "

    def __init__(self, growing: Growing, markdown: str) -> None:
        self._growing, self._source = growing, markdown.split("\n")
        self._lists: list[_List] = []
        self._in_table = False

    @abstractmethod
    def inline(self, tokens: Sequence[Token]) -> None:
        """Text and what stands in it."""

    @abstractmethod
    def heading(self, *, opens: bool) -> None: ...

    @abstractmethod
    def quote(self, *, opens: bool) -> None: ...

    @abstractmethod
    def code(self, body: str, language: str) -> None:
        """Never empty; what a table says is shown as it was written."""

    def write(self, tokens: Sequence[Token]) -> None:
        lists = self._lists
        acts: Mapping[str, Callable[[Token], None]] = {
            "paragraph_close": lambda it: self._growing.owe(1 if it.hidden else 2),
            "heading_open": lambda _it: self.heading(opens=True),
            "heading_close": lambda _it: self._ended(self.heading),
            "fence": lambda it: self._code(it.content, it.info.strip()),
            "code_block": lambda it: self._code(it.content),
            "hr": self._rule,
            "blockquote_open": lambda _it: self.quote(opens=True),
            "blockquote_close": lambda _it: self._ended(self.quote),
            "bullet_list_open": lambda _it: lists.append(_List(0, self._growing.indent)),
            "ordered_list_open": lambda it: lists.append(_List(int(it.attrs.get("start", 1)), self._growing.indent)),
            "bullet_list_close": self._close_list,
            "ordered_list_close": self._close_list,
            "list_item_open": self._item,
            "table_open": self._table,
            "table_close": self._end_table,
        }
        for token in tokens:
            if token.type == "inline" and not self._in_table:
                self.inline(token.children or ())
            elif (act := acts.get(token.type)) is not None:
                act(token)

    def _ended(self, part: Callable[..., None]) -> None:
        part(opens=False)
        self._growing.owe(2)

    def _code(self, content: str, info: str = "") -> None:
        if body := content.rstrip("\n"):
            self.code(body, info.split()[0][:32] if info else "")
        self._growing.owe(2)

    def _rule(self, _token: Token) -> None:
        self._growing.add(RULE)
        self._growing.owe(2)

    def _item(self, _token: Token) -> None:
        around = self._lists[-1]
        mark = f"{around.number}. " if around.number else "• "
        around.number += bool(around.number)
        self._growing.indent = around.before
        self._growing.add(mark)
        self._growing.indent = around.before + self.step

    def _close_list(self, _token: Token) -> None:
        self._growing.indent = self._lists.pop().before
        self._growing.owe(1 if self._lists else 2)

    def _table(self, token: Token) -> None:
        self._in_table = True
        if token.map:
            self._code("\n".join(self._source[slice(*token.map)]).rstrip())

    def _end_table(self, _token: Token) -> None:
        self._in_table = False
        self._growing.owe(2)
