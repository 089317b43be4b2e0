"""What stands above the body of a SKILL.md: `key: value` lines between two lines of dashes. Pure.

It reads of YAML what such heads are written in: plain, quoted and folded text. Lists and maps are passed over. Knows
neither files nor which keys matter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from hookgate.protocol.dataclasses import dataclass

_EDGE = re.compile(r"---\s*")
_KEY = re.compile(r"([A-Za-z0-9_.-]+)\s*:(?:\s+(.*))?")
_COMMENT = re.compile(r"\s#.*")
_BLOCK = re.compile(r"([>|])[1-9+-]{0,2}\s*(?:#.*)?")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?""")
_NOTHING = ("", "~", "null")


class BadHead(ValueError):
    """The head cannot be read; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A key, what stands beside it, and the lines below that belong to it. `line` counts from 1 in the file."""

    key: str
    value: str
    below: tuple[str, ...]
    line: int

    def text(self) -> str:
        """The value as one text; empty for none. Raises BadHead for what is no text."""
        block = _BLOCK.fullmatch(self.value)
        if block is not None:
            return _folded(self.below) if block[1] == ">" else _literal(self.below)
        if self.value[:1] in ('"', "'"):
            return self._quoted()
        if self.value[:1] in tuple("[{&*!|>%@`"):
            raise self._bad("is no plain text: put it in quotes")
        lines = [_COMMENT.sub("", f" {line}").strip() for line in (self.value, *self.below)]
        if not self.value and any(line.startswith("- ") or _KEY.fullmatch(line) for line in lines):
            raise self._bad("must be a text")
        text = " ".join(filter(None, lines))
        return "" if text in _NOTHING else text

    def _quoted(self) -> str:
        found = _QUOTED.fullmatch(" ".join((self.value, *filter(None, map(str.strip, self.below)))))
        if found is None:
            raise self._bad("its quotes do not end where the value does")
        quoted = found[1]
        if quoted.startswith("'"):
            return quoted[1:-1].replace("''", "'")
        try:
            return str(json.loads(quoted, strict=False))
        except ValueError:
            raise self._bad("holds a backslash that means nothing there") from None

    def _bad(self, why: str) -> BadHead:
        return BadHead(f"line {self.line}: {self.key} {why}")


def split(text: str) -> tuple[Mapping[str, Entry], str]:
    """The entries by key, the last of each, and the body. Raises BadHead."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if not _EDGE.fullmatch(lines[0]):
        raise BadHead("it does not begin with a line of three dashes")
    end = next((number for number, line in enumerate(lines) if number and _EDGE.fullmatch(line)), 0)
    if not end:
        raise BadHead("no line of three dashes ends its head")
    return {entry.key: entry for entry in _entries(lines[1:end])}, "\n".join(lines[end + 1 :])


def _entries(lines: Sequence[str]) -> Iterator[Entry]:
    found: Entry | None = None
    below: list[str] = []
    for number, line in enumerate(lines, 2):
        if line[:1] in ("", " ", "\t") or (line.startswith("- ") and found is not None):
            below.append(line)
            continue
        if line.startswith("#"):
            continue
        if found is not None:
            yield Entry(found.key, found.value, tuple(below), found.line)
        found, below = _begun(line, number), []
    if found is not None:
        yield Entry(found.key, found.value, tuple(below), found.line)


def _begun(line: str, number: int) -> Entry:
    match = _KEY.fullmatch(line.rstrip())
    if match is None:
        raise BadHead(f"line {number}: it must be KEY: VALUE")
    return Entry(match[1], (match[2] or "").strip(), (), number)


def _literal(lines: Sequence[str]) -> str:
    """Lines as they stand, without the indentation of the first and the empty ones at the end."""
    first = next((line for line in lines if line.strip()), "")
    margin = len(first) - len(first.lstrip())
    return "\n".join(line[margin:] if not line[:margin].strip() else line.strip() for line in lines).strip("\n")


def _folded(lines: Sequence[str]) -> str:
    """A line end alone is a space; empty lines part paragraphs."""
    one_a_paragraph = re.sub(r"(?<!\n)\n(?!\n)", " ", _literal(lines))
    return re.sub(r"\n(\n+)", r"\1", one_a_paragraph)
