"""What a search is asked and what it found, as both sides of the pipe between them read it. Searches nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Literal

from hookgate.protocol.dataclasses import dataclass

Kind = Literal["file", "folder", "link", "other"]

# Of files that ripgrep is not worth starting for: so many are searched before it is.
PROBED_FILES = 2000


class BadPattern(ValueError):
    """A pattern that does not compile; the text names what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Query:
    """Where and what to search.

    `parts` lead from `root` to the folder that is searched; with `file` only that file of it is. `glob` chooses
    paths below the folder; without a `pattern` they are what is wanted, with one the lines in them that it matches.
    `hidden`: names that begin with a dot too. `withheld`: files and folders that are passed over whatever is asked,
    relative to `root`. `rg` is the path of ripgrep, or empty; it is waited for so long before the search goes on
    without it.
    """

    root: str
    parts: tuple[str, ...] = ()
    file: str = ""
    pattern: str = ""
    glob: str = ""
    literal: bool = False
    ignore_case: bool = False
    hidden: bool = False
    ignored: bool = False
    withheld: tuple[str, ...] = ()
    limit: int = 100
    rg: str = ""
    probed: int = PROBED_FILES
    rg_patience_s: float = 12.0

    @property
    def prefix(self) -> str:
        """What stands before every path below the folder: empty, or with a slash at its end."""
        return "".join(f"{part}/" for part in self.parts)

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decoded(cls, text: str) -> Query:
        members = json.loads(text)
        parts, withheld = tuple(members.pop("parts")), tuple(members.pop("withheld"))
        return cls(parts=parts, withheld=withheld, **members)


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that matches, counted from 1. The path is relative to the root and can be shown."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A path that matches, relative to the root, as it can be shown."""

    path: str
    type: Kind


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`count` is of all that matches; `stopped`: the search ended at the limit, and nobody knows how many there are.

    `skipped` counts folders and files that could not be read. `fault` says why nothing was searched.
    """

    hits: tuple[Hit, ...] = ()
    entries: tuple[Entry, ...] = ()
    count: int = 0
    stopped: bool = False
    skipped: int = 0
    fault: str = ""

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decoded(cls, text: bytes) -> SearchResult:
        members = json.loads(text)
        hits = tuple(Hit(**hit) for hit in members.pop("hits"))
        entries = tuple(Entry(**entry) for entry in members.pop("entries"))
        return cls(hits, entries, **members)
