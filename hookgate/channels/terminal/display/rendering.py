"""Blocks of Markdown as rows of a terminal, with colours. Imported for the first block: what it stands on is dear.

Of what is written nothing is hidden: what cannot be laid out stands there as it was written. No control sequence gets
through but the colours that are put in here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from io import StringIO
from textwrap import indent

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from hookgate.channels.highlighting import Highlighting
from hookgate.channels.printable import printable
from hookgate.channels.terminal.display.blocks import Block

NARROWEST, NARROWEST_COLUMN = 20, 6
INDENT = "    "
"""Before code without a fence."""
DEEPEST = 12
"""Lists and quotes within each other, in levels of the parser, two for each."""
MAX_CELLS = 1000
"""Of a table; it takes rich 0.1 ms for each."""
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")
_ROW = re.compile(r"(?:[\s>*+-]|\d+[.)])*\|?(.*?)(?:(?<!\\)\|)?\s*")
"""Of a table, also within a quote or an item."""
_THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.block_quote": "italic",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold italic",
        "markdown.h6": "italic",
        "markdown.item.number": "bold",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)
_CODE = {"k": "magenta", "f": "blue", "b": "cyan", "s": "green", "n": "yellow", "c": "dim", "d": "red", "i": "green"}
"""Colours of the kinds of words in code; they are the terminal's own, which suit its background."""


def rendered(block: Block, columns: int) -> list[str]:
    """Its rows, none wider than that but for lines of code, which are left whole."""
    if block.code:
        fences = (_dim(line) for line in (block.opening, block.closing))
        opening, closing = ([line] if line else [] for line in fences)
        language = block.opening.strip().lstrip("`~").partition(" ")[0]
        return [*opening, *_rows(_highlighted("\n".join(block.lines), language)), *closing]
    text = printable("\n".join(block.lines))
    tokens = _parser().parse(text)
    if columns < NARROWEST or not _fits(tokens, columns) or not _has_all(tokens, text.split("\n")):
        return text.split("\n")
    console = _console()
    laid_out = console.render_lines(_laid(tokens), console.options.update(width=columns), pad=False)
    return list(_bare(_row(line) for line in laid_out))


class _Laid(Markdown):
    """What a parser of our own has read: no HTML, no definitions, nothing that rich would leave out."""


class _Heading(Heading):
    """At the left, as all others."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Code(CodeBlock):
    """Within its fence, or behind blanks, as it was written."""

    fence = info = ""

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Code:
        code = cls(token.info.partition(" ")[0], markdown.code_theme)
        code.fence, code.info = token.markup, printable(token.info)
        return code

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.plain.rstrip("\n")
        if not self.fence:
            yield _highlighted(indent(text, INDENT), "")
            return
        yield Text(f"{self.fence}{self.info}", "dim")
        yield _highlighted(f"{text}\n", self.lexer_name)
        yield Text(self.fence, "dim")


class _Table(TableElement):
    """What does not fit into a cell goes on below."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE, pad_edge=False, style="markdown.table.border", collapse_padding=True)
        for cell in self.header.row.cells if self.header is not None and self.header.row is not None else ():
            heading = cell.content.copy()
            heading.stylize("markdown.table.header")
            table.add_column(heading, overflow="fold")
        for row in self.body.rows if self.body is not None else ():
            table.add_row(*(cell.content for cell in row.cells))
        yield table


_OWN: dict[str, type[MarkdownElement]] = {
    "heading_open": _Heading,
    "fence": _Code,
    "code_block": _Code,
    "table_open": _Table,
}
_Laid.elements = {**Markdown.elements, **_OWN}


@cache
def _empty() -> _Laid:
    return _Laid("")


def _laid(tokens: Sequence[Token]) -> _Laid:
    """One for all, since rich makes a parser for each."""
    laid = _empty()
    laid.parsed = [_told(token) for token in tokens]
    return laid


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("reference")


@cache
def _console() -> Console:
    # Nothing about the real terminal is asked, and nothing is read of the environment.
    return Console(file=StringIO(), width=80, color_system="standard", force_terminal=True, theme=_THEME, _environ={})


def _fits(tokens: Sequence[Token], columns: int) -> bool:
    """Whether there is room for all of it."""
    deepest = max((token.level for token in tokens), default=0)
    room = columns - 2 * deepest
    widest = cells = total = 0
    for token in tokens:
        is_cell = token.type in ("th_open", "td_open")
        cells = 0 if token.type == "tr_open" else cells + is_cell
        widest, total = max(widest, cells), total + is_cell
    return deepest <= DEEPEST and total <= MAX_CELLS and room >= max(NARROWEST, widest * NARROWEST_COLUMN)


def _has_all(tokens: Sequence[Token], lines: Sequence[str]) -> bool:
    """Whether no row of a table has more cells than its head: the parser leaves those out."""
    heads = 0
    for token in tokens:
        heads = 0 if token.type == "thead_open" else heads + (token.type == "th_open")
        row = _ROW.fullmatch(lines[token.map[0]]) if token.type == "tr_open" and token.map and heads else None
        if row is not None and len(_BETWEEN_CELLS.split(row[1])) > heads:
            return False
    return True


def _told(token: Token) -> Token:
    """Lines end where they were ended; links and pictures are followed by their target and their title."""
    if token.type == "inline" and token.children:
        token.children = list(_inline(token.children))
    return token


def _inline(tokens: Iterable[Token]) -> Iterator[Token]:
    target, title, said = "", "", ""
    for token in tokens:
        match token.type:
            case "softbreak":
                yield Token("hardbreak", "br", 0)
            case "link_open":
                target, title, said = str(token.attrs.get("href", "")), _title(token), ""
            case "link_close":
                if title or target not in (said, f"mailto:{said}"):
                    yield _text(f" ({target}{title})")
            case "image":
                yield _text(f"[{token.content}] ({token.attrs.get('src', '')}{_title(token)})")
            case _:
                said += token.content
                # Written as an entity, it comes to light only now.
                token.content = printable(token.content)
                yield token


def _title(token: Token) -> str:
    title = token.attrs.get("title")
    return f' "{title}"' if title else ""


def _text(text: str) -> Token:
    return Token("text", "", 0, content=printable(text))


def _highlighted(code: str, language: str) -> Text:
    code = printable(code)
    text = Text(overflow="fold", end="")
    for kind, words in Highlighting().words(code, language.lower()) or [("", code)]:
        text.append(words, _CODE.get(kind))
    return text


def _rows(text: Text) -> Iterator[str]:
    for line in text.split("\n", allow_blank=True):
        line.end = ""
        yield _row(list(line.render(_console())))


def _row(segments: Sequence[Segment]) -> str:
    parts = [(printable(it.text), it.style) for it in segments if not it.control]
    while parts and not parts[-1][0].strip():
        parts.pop()
    if parts:
        parts[-1] = parts[-1][0].rstrip(), parts[-1][1]
    return "".join(style.render(text, color_system=ColorSystem.STANDARD) if style else text for text, style in parts)


def _bare(rows: Iterable[str]) -> Iterator[str]:
    """Without empty ones before the first and after the last."""
    waiting = 0
    begun = False
    for row in rows:
        if not row:
            waiting += 1
            continue
        yield from [""] * (waiting if begun else 0)
        yield row
        waiting, begun = 0, True


def _dim(line: str) -> str:
    return f"\x1b[2m{printable(line)}\x1b[0m" if line else ""
