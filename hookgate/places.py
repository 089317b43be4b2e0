"""Where the keys and values of a TOML text stand. Reads only text that `tomllib` has taken, so nothing is checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence

Path = tuple[str | int, ...]

_BLANKS = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\]|\\.)*+"|' + r"'[^']*+'", re.DOTALL
)
_KEY = re.compile(rf"{_STRING.pattern}|[A-Za-z0-9_-]++", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\r\n]++")


class Places:
    """Line and column, from 1, of what stands at a path; the numbers in a path count the elements of arrays."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._keys: dict[Path, int] = {}
        self._values: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}
        self._read()

    def of(self, path: Sequence[str | int], *, key: bool) -> tuple[int, int] | None:
        """Of the `key` that the path ends with, else of its value; where that is not there, of what would hold it."""
        for end in range(len(path), 0, -1):
            part = tuple(path[:end])
            found = (self._keys, self._values) if key or end < len(path) else (self._values, self._keys)
            at = found[0].get(part, found[1].get(part))
            if at is not None:
                return self._text.count("\n", 0, at) + 1, at - self._text.rfind("\n", 0, at)
        return None

    def _read(self) -> None:
        table: Path = ()
        while self._skip() < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        several = self._text.startswith("[[", self._at)
        self._at += 2 if several else 1
        table: Path = ()
        *outer, last = self._dotted()
        for key, at in outer:
            table = self._last((*table, key))
            self._keys.setdefault(table, at)
        table = (*table, last[0])
        self._keys.setdefault(table, last[1])
        if several:
            number = self._tables[table] = self._tables.get(table, -1) + 1
            table = (*table, number)
            self._keys.setdefault(table, last[1])
        self._at += 2 if several else 1
        return table

    def _last(self, table: Path) -> Path:
        """Of an array of tables its last one, which is what later headers are about."""
        return (*table, self._tables[table]) if table in self._tables else table

    def _pair(self, table: Path) -> None:
        for key, at in self._dotted():
            table = (*table, key)
            self._keys.setdefault(table, at)
        self._at += 1
        self._value(table)

    def _dotted(self) -> list[tuple[str, int]]:
        keys: list[tuple[str, int]] = []
        while key := _KEY.match(self._text, self._skip()):
            word = key[0]
            keys.append((next(iter(tomllib.loads(f"{word} = 0"))), key.start()))
            self._at = key.end()
            if self._text[self._skip()] != ".":
                break
            self._at += 1
        return keys

    def _value(self, path: Path) -> None:
        self._values[path] = begin = self._skip()
        match self._text[begin]:
            case "[":
                self._items(path, "]")
            case "{":
                self._items(path, "}")
            case mark:
                value = (_STRING if mark in "\"'" else _SCALAR).match(self._text, begin)
                self._at = value.end() if value else len(self._text)

    def _items(self, path: Path, closer: str) -> None:
        number = 0
        self._at += 1
        while self._text[self._skip()] != closer:
            if closer == "]":
                self._value((*path, number))
                number += 1
            else:
                self._pair(path)
            if self._text[self._skip()] == ",":
                self._at += 1
        self._at += 1

    def _skip(self) -> int:
        blanks = _BLANKS.match(self._text, self._at)
        self._at = blanks.end() if blanks else self._at
        return self._at
