"""Reads a documentation page: its fenced blocks and its tables, each with the HTML comment that stands before it.

Knows Markdown, and nothing of what a page is about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_MARK = re.compile(r"<!-- (.+) -->")
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(#([^)]+)\)")
_HEADING = re.compile(r"^#+ (.+)$")


@dataclass(frozen=True)
class Part:
    """A block or a table; `mark` is the comment on the line before it, or empty; `line` counts from 1."""

    mark: str
    language: str
    lines: tuple[str, ...]
    line: int

    @property
    def kind(self) -> str:
        """The first word of the mark."""
        return self.mark.partition(" ")[0].rstrip(":")

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a table, without its heading."""
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in self.lines[2:]]

    @property
    def said(self) -> list[tuple[str, str]]:
        """Each command of a console with what it prints."""
        pieces = "\n".join(self.lines).removeprefix("$ ").split("\n$ ")
        return [(command, shown.rstrip()) for command, _, shown in (piece.partition("\n") for piece in pieces)]


@dataclass(frozen=True)
class Page:
    text: str

    @cached_property
    def parts(self) -> list[Part]:
        """Fenced blocks and tables (language `table`), from top to bottom."""
        lines, parts, at = self.text.splitlines(), list[Part](), 0
        while at < len(lines):
            end = _end(lines, at)
            if end > at:
                parts.append(_part(lines, at, end))
            at = max(end, at) + 1
        return parts

    def marked(self, kind: str) -> list[Part]:
        return [part for part in self.parts if part.kind == kind]

    def one(self, kind: str) -> Part:
        (part,) = self.marked(kind)
        return part

    @property
    def headings(self) -> list[str]:
        blocks = {line for part in self.parts for line in part.lines}
        return [found[1] for line in self.text.splitlines() if line not in blocks and (found := _HEADING.match(line))]

    @property
    def links(self) -> list[str]:
        """Targets of links inside the page."""
        return _LINK.findall(self.text)


def read_page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def codes(cell: str) -> list[str]:
    """What stands in backticks."""
    return _CODE.findall(cell)


def anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9_ -]", "", heading.lower()).replace(" ", "-")


def _end(lines: list[str], at: int) -> int:
    """The last line of the part that begins here; `at` itself where none does."""
    if lines[at].startswith("```"):
        return lines.index("```", at + 1)
    end = at
    while lines[at].startswith("|") and end + 1 < len(lines) and lines[end + 1].startswith("|"):
        end += 1
    return end


def _part(lines: list[str], at: int, end: int) -> Part:
    mark = _MARK.fullmatch(lines[at - 1]) if at else None
    fence = lines[at].startswith("```")
    inner = lines[at + 1 : end] if fence else lines[at : end + 1]
    return Part(mark[1] if mark else "", lines[at][3:] if fence else "table", tuple(inner), at + 1)
