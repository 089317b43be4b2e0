"""`hookgate docs`: the pages of the documentation, where they lie and what they are called."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, repeat
from pathlib import Path

from hookgate.cli.printing import hanging, say, say_json, screen_size, table, width_shown
from hookgate.config import ConfigError
from hookgate.protocol.dataclasses import dataclass

_PACKAGE = Path(__file__).parents[1]
_COMMENT = re.compile(r"^<!-- .* -->\n", re.M)
"""What tests know a block by."""
README = "README"


@dataclass(frozen=True, slots=True)
class Page:
    name: str
    title: str
    file: Path = field(repr=False)
    subject: str = ""

    @property
    def words(self) -> str:
        return f"{self.title} {self.subject}".lower()


def pages() -> list[Page]:
    """By their names: the README, all of docs/, and the pages beside the SDKs, each called by its language. Raises
    ConfigError where they were not installed."""
    places = (_PACKAGE / "_share", _PACKAGE.parent)
    root = next((place for place in places if (place / "docs").is_dir()), None)
    if root is None:
        raise ConfigError("the pages are not installed beside hookgate")
    named = {README: root / f"{README}.md"}
    named |= {file.stem: file for file in sorted((root / "docs").glob("*.md"))}
    sdks = {file.parent.name: file for file in sorted((root / "plugins").glob(f"*/{README}.md"))}
    return [
        *(Page(name, _title(file), file) for name, file in named.items()),
        *(Page(name, _title(file), file, "sdk") for name, file in sdks.items()),
    ]


def _title(file: Path) -> str:
    """The first heading."""
    with file.open(encoding="utf-8") as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), file.stem)


def list_pages(*, as_json: bool) -> int:
    found = pages()
    if as_json:
        return say_json([{"name": page.name, "title": page.title} for page in found])
    for line in table(((page.name, page.title) for page in found), width_shown()):
        say(line)
    say("hookgate docs PAGE shows one.")
    return 0


def show_page(name: str) -> int:
    """In a pager where a person reads it at a terminal. Raises ConfigError, with near names, where there is no such
    page."""
    found = {page.name.lower(): page for page in pages()}
    asked = name.removesuffix(".md").rpartition("/")[2].lower()
    page = found.get(asked)
    if page is None:
        raise ConfigError(f"there is no page {name!r}{_near(asked, found)}: `hookgate docs` lists all")
    text = _COMMENT.sub("", page.file.read_text(encoding="utf-8"))
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return 0
    import click

    click.echo_via_pager(fitted(text, screen_size()[0]))
    return 0


def fitted(text: str, width: int) -> str:
    """A page on a screen of this width: prose goes on at words, a table that is wider is laid out; code and headings
    are as they are."""
    rows, prose, fenced = list[str](), list[str](), False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        if fenced or fence or not line.strip() or _AS_IT_IS.match(line):
            rows += [*_part(prose, width), line]
            prose, fenced = [], fenced != fence
        elif _ITEM.match(line) or (prose and _is_row(line) != _is_row(prose[0])):
            rows += _part(prose, width)
            prose = [line]
        else:
            prose.append(line)
    return "\n".join([*rows, *_part(prose, width), ""])


_AS_IT_IS = re.compile(r"[#<]")
_BETWEEN = re.compile(r"(?<!\\)\|")
_ITEM = re.compile(r" *(?:[-*]|[0-9]+\.) +")


def _is_row(line: str) -> bool:
    return line.startswith("|")


def _part(lines: Sequence[str], width: int) -> Sequence[str]:
    """Prose, or the rows of a table."""
    if max(map(len, lines), default=0) < width:
        return lines
    return _laid_out(lines, width) if _is_row(lines[0]) else _paragraph(lines, width)


def _laid_out(lines: Sequence[str], width: int) -> Sequence[str]:
    """In columns, or where these leave the last one less than half of the screen each row below its first cell; what
    is no table as it is."""
    names, *rows = [[cell.strip() for cell in _BETWEEN.split(line)[1:-1]] for line in lines]
    if {len(names)} != {len(row) for row in rows} or "".join(rows.pop(0)).strip("-:"):
        return lines
    columns = [*zip(names, *rows, strict=True)]
    if sum(max(map(len, column)) + 2 for column in columns[:-1]) > width // 2:
        return [line for row in _headed(names, rows) for line in _below(row, width)]
    if all(names):
        return table([names, *rows], width)
    return [*filter(None, names), *table(rows, width)]


def _headed(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Of two columns the names are a row as all are; of more each cell has its own before it."""
    several = len(names) > 2
    yield names[:1] if several else names
    for row in rows:
        named = zip(names[1:], row[1:], strict=True)
        yield [row[0], *(f"{name}: {cell}" if several and name and cell else cell for name, cell in named)]


def _below(row: Sequence[str], width: int) -> Iterator[str]:
    """One after the other, all but the first further in."""
    for head, cell in zip(chain([""], repeat("    ")), row, strict=False):
        yield from hanging(head, cell, width) if cell else ()


def _paragraph(lines: Sequence[str], width: int) -> Sequence[str]:
    """Of prose, or of an item of a list, which goes on below itself."""
    marked = _ITEM.match(lines[0])
    head = marked[0] if marked else ""
    return hanging(head, " ".join(line.strip() for line in lines).removeprefix(head.lstrip()), width)


def _near(name: str, found: Mapping[str, Page]) -> str:
    """Those that have the word in their name, their title or subject; else those that are called nearly so."""
    from difflib import get_close_matches

    word = name.removesuffix("s")
    named = [it for it in found if len(word) > 1 and word in it]
    about = [it for it, page in found.items() if word and re.search(rf"\b{re.escape(word)}s?\b", page.words)]
    close = dict.fromkeys([*named, *about]) or get_close_matches(name, found)
    return f"; close: {', '.join(close)}" if close else ""
