"""What tools must neither change nor see: one value, asked for whenever it is used. Computes nothing of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from glob import iglob
from itertools import islice
from pathlib import Path

from hookgate.protocol.dataclasses import dataclass

_MAGIC = re.compile(r"[*?[]")
_MAX_MATCHES = 1000
"""Files that a sandbox makes read-only for one pattern: each is a mount."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Absolute paths without links in their folders.

    `paths` are files and folders that no tool may change, there or not; `folders` must not be made by a command
    either, where they are missing. `told` are files that every later model is told. `hidden` no tool may see, and
    nothing that lies in them.
    `patterns` are globs over absolute paths, with `**` for any number of folders.
    """

    paths: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    told: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    patterns: tuple[str, ...] = ()

    def covers(self, path: Path) -> bool:
        """Whether it is one of `paths` or `folders`, or lies in one, or a pattern is about it."""
        return any(path.is_relative_to(kept) for kept in (*self.paths, *self.folders)) or self._matches(path)

    def _matches(self, path: Path) -> bool:
        lines = [str(it) for it in (path, *path.parents)]
        return any(_compiled(pattern).fullmatch(line) for pattern in self.patterns for line in lines)

    def there(self) -> Iterator[Path]:
        """All that a sandbox can make read-only now, and what models are told even where it is missing. Blocks."""
        yield from (path for path in (*self.paths, *self.folders) if os.path.exists(path))
        yield from self.told
        for pattern in self.patterns:
            found = iglob(pattern, recursive=True, include_hidden=True)
            yield from map(Path, islice(found, _MAX_MATCHES))


Keep = Callable[[], Kept]
"""What is kept now. Blocks a little."""
Hide = Callable[[], tuple[Path, ...]]
"""What of it is hidden, which is asked for at each reading: blocks much less."""

NOTHING = Kept()


def nothing() -> Kept:
    return NOTHING


def is_pattern(text: str) -> bool:
    return _MAGIC.search(text) is not None


def real(path: Path) -> Path:
    """Without links in its folders; one that it is itself stays, since it can be replaced."""
    return Path(os.path.realpath(path.parent), path.name) if path.name not in ("", "..") else path.resolve()


def unique(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(paths))


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern)
    return re.compile("".join(map(_translated, parts)))


def _translated(part: str) -> str:
    match part:
        case "**/":
            return "(?:[^/]+/)*"
        case "**":
            return ".*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case _ if part.startswith("[") and part.endswith("]") and len(part) > 2:
            signs = part[1:-1].removeprefix("!").replace("\\", r"\\").replace("[", r"\[")
            return f"[{'^' if part[1] == '!' else ''}{signs}]"
        case _:
            return re.escape(part)
