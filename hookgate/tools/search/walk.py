"""Walks folders by descriptors, in the order of their paths: no link is followed, so none can lead out.

Reads no file but `.gitignore`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.search.ignore import Rules, read_rules
from hookgate.tools.search.query import Kind, Query

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

# Each level holds a descriptor, of which a process has 256 on some systems.
_MAX_DEPTH = 128

Named: TypeAlias = "tuple[str, str, Kind]"
"""What it is sorted by, its name, its kind."""

Lister: TypeAlias = Callable[[int, str], "list[Named]"]
"""What is in the folder with this descriptor, which is at this path below the root: sorted. May raise OSError."""


@dataclass(frozen=True, slots=True)
class Walked:
    """A file, folder or anything else by its name in the open folder `folder`; `path` is relative to the root."""

    folder: int
    name: str
    path: str
    kind: Kind


def shown(name: str) -> str:
    """A name in one line of valid text: what is no UTF-8 and what breaks a line is escaped."""
    if name.isascii() and name.isprintable():
        return name
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _BREAKS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def listed(folder: int, _prefix: str) -> list[Named]:
    with os.scandir(folder) as entries:
        return sorted(map(_named, entries))


def named(name: str, kind: Kind) -> Named:
    # With its slash a folder stands where the paths below it do.
    return (f"{name}/" if kind == "folder" else name), name, kind


def _named(entry: os.DirEntry[str]) -> Named:
    return named(entry.name, kind_of(entry))


def kind_of(entry: os.DirEntry[str]) -> Kind:
    if entry.is_file(follow_symlinks=False):
        return "file"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "link" if entry.is_symlink() else "other"


class Walk:
    """One walk below one folder. `skipped` counts the folders that could not be read."""

    def __init__(self, query: Query, enters: Callable[[str], bool], lister: Lister = listed) -> None:
        self._hidden, self._ignored = query.hidden, query.ignored
        self._withheld = frozenset(query.withheld)
        self._enters, self._lister = enters, lister
        self.skipped = 0

    def below(self, folder: int, prefix: str, above: Rules | None, depth: int = 0) -> Iterator[Walked]:
        """Everything below `folder`, which is at `prefix` and stays open; `above` are the rules of its parents."""
        rules = None if self._ignored else read_rules(folder, prefix, above)
        for _, name, kind in self._listed(folder, prefix):
            path = prefix + name
            if path in self._withheld or (not self._hidden and name.startswith(".")):
                continue
            if rules is not None and rules.ignores(path, kind == "folder"):
                continue
            yield Walked(folder, name, path, kind)
            if kind == "folder" and self._enters(f"{path}/"):
                yield from self._inside(Walked(folder, name, f"{path}/", kind), rules, depth + 1)

    def _listed(self, folder: int, prefix: str) -> list[Named]:
        try:
            return self._lister(folder, prefix)
        except OSError:
            self.skipped += 1
            return []

    def _inside(self, at: Walked, rules: Rules | None, depth: int) -> Iterator[Walked]:
        descriptor = self._opened(at) if depth <= _MAX_DEPTH else None
        if descriptor is None:
            self.skipped += depth > _MAX_DEPTH
            return
        try:
            yield from self.below(descriptor, at.path, rules, depth)
        finally:
            os.close(descriptor)

    def _opened(self, at: Walked) -> int | None:
        try:
            return os.open(at.name, FOLDER_FLAGS, dir_fd=at.folder)
        except FileNotFoundError:
            return None
        except OSError:
            self.skipped += 1
            return None
