"""The process that searches: reads a query from its command line, prints what it found. Knows no tool and no loop.

A process of its own, because it can be killed whatever it is doing, and because walking and matching would keep
the gateway from its other work.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator

from hookgate.tools.opening import READ
from hookgate.tools.search.ignore import Rules, read_rules
from hookgate.tools.search.lines import Pattern, TooLong
from hookgate.tools.search.query import BadPattern, Entry, Hit, Query, SearchResult
from hookgate.tools.search.regex import Test, compiled, fixed_folders, matchable, of_glob
from hookgate.tools.search.ripgrep import candidates, lister, tree
from hookgate.tools.search.walk import FOLDER_FLAGS, Walk, Walked, shown

_REASON_CHARS = 500


def main() -> None:
    """Exits with status 1, and the reason as the fault, where it could not do what was asked."""
    try:
        answer = found(Query.decoded(sys.argv[1]))
    except Exception as error:
        sys.stdout.write(SearchResult(fault=f"{type(error).__name__}: {error}"[:_REASON_CHARS]).encoded())
        sys.exit(1)
    sys.stdout.write(answer.encoded())


def found(query: Query) -> SearchResult:
    """What the query finds; its `fault` names a pattern that does not compile. Raises OSError: no such folder."""
    try:
        return _lines(query) if query.pattern else _paths(query)
    except BadPattern as error:
        return SearchResult(fault=str(error))


# --- lines --------------------------------------------------------------------------------------------------


def _lines(query: Query) -> SearchResult:
    pattern, wanted = Pattern(query), _wanted(query, anywhere=True)
    folder, above = _start(query)
    if query.file:
        walk = Walk(query, _everywhere, lister(tree([query.prefix + query.file])))
        return _Reading(query, pattern).all(walk, walk.below(folder, query.prefix, None))
    first = Walk(query, _entered(query, wanted))
    files = (it for it in first.below(folder, query.prefix, above) if it.kind == "file" and wanted(it.path))
    reading = _Reading(query, pattern)
    if not query.rg or pattern.placed:
        return reading.all(first, files)
    partly = reading.some(first, files)
    return partly or _with_ripgrep(query, pattern, wanted)


def _with_ripgrep(query: Query, pattern: Pattern, wanted: Test) -> SearchResult:
    """The tree is large: only what ripgrep names is walked, by the same rules and in the same order."""
    folder, above = _start(query)
    named = candidates(folder, query)
    enters = _entered(query, wanted)
    walk = Walk(query, enters, lister(named[0])) if named else Walk(query, enters)
    walk.skipped += named[1] if named else 0
    files = (it for it in walk.below(folder, query.prefix, above) if it.kind == "file" and wanted(it.path))
    return _Reading(query, pattern).all(walk, files)


def _entered(query: Query, wanted: Test) -> Test:
    """Which folders may hold files that the glob chooses: not those that it excludes."""
    if query.glob.startswith("!"):
        return lambda path: wanted(path.removesuffix("/"))
    return _towards(query.prefix, query.glob.removeprefix("/")) if "/" in query.glob else _everywhere


class _Reading:
    def __init__(self, query: Query, pattern: Pattern) -> None:
        self._query, self._pattern = query, pattern
        self._hits: list[Hit] = []
        self._skipped = 0

    def all(self, walk: Walk, files: Iterator[Walked]) -> SearchResult:
        stopped = any(self._full(file) for file in files)
        return self._found(walk, stopped)

    def some(self, walk: Walk, files: Iterator[Walked]) -> SearchResult | None:
        """None where the tree has more files than are worth reading one by one."""
        for number, file in enumerate(files):
            if number >= self._query.probed:
                return None
            if self._full(file):
                return self._found(walk, True)
        return self._found(walk, False)

    def _found(self, walk: Walk, stopped: bool) -> SearchResult:
        hits = tuple(self._hits[: self._query.limit])
        return SearchResult(hits, count=len(hits), stopped=stopped, skipped=walk.skipped + self._skipped)

    def _full(self, file: Walked) -> bool:
        """Reads one file; true once there is more than was asked for."""
        try:
            descriptor = os.open(file.name, READ, dir_fd=file.folder)
        except FileNotFoundError:
            return False
        except OSError:
            self._skipped += 1
            return False
        try:
            self._read(descriptor, file)
        except (TooLong, OSError):
            self._skipped += 1
        finally:
            os.close(descriptor)
        return len(self._hits) > self._query.limit

    def _read(self, descriptor: int, file: Walked) -> None:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return
        for number, line in self._pattern.lines(descriptor, status.st_size):
            self._hits.append(Hit(shown(file.path), number, line))
            if len(self._hits) > self._query.limit:
                return


# --- paths --------------------------------------------------------------------------------------------------


def _paths(query: Query) -> SearchResult:
    wanted, glob = _wanted(query, anywhere=False), query.glob
    folder, above = _start(query)
    walk = Walk(query, _towards(query.prefix, glob))
    entries: list[Entry] = []
    count = 0
    for it in walk.below(folder, query.prefix, above):
        if wanted(it.path) and (it.kind == "folder" or not glob.endswith("/")):
            count += 1
            if count <= query.limit:
                entries.append(Entry(shown(it.path), it.kind))
    return SearchResult(entries=tuple(entries), count=count, skipped=walk.skipped)


def _towards(prefix: str, glob: str) -> Test:
    """Whether a folder, written with its slash, may hold what the glob names."""
    fixed = prefix + fixed_folders(glob)
    levels = sys.maxsize if "**" in glob else prefix.count("/") + glob.rstrip("/").count("/")
    return lambda path: (path.startswith(fixed) or fixed.startswith(path)) and path.count("/") <= levels


# --- both ---------------------------------------------------------------------------------------------------


def _everywhere(_: str) -> bool:
    return True


def _wanted(query: Query, *, anywhere: bool) -> Test:
    """Whether a path, relative to the root, is one that the glob chooses."""
    if not query.glob:
        return _everywhere
    glob = query.glob.removeprefix("!") if anywhere else query.glob
    body = glob.rstrip("/")
    try:
        test = compiled(of_glob(body.removeprefix("/"), anywhere=anywhere and "/" not in body))
    except BadPattern as error:
        raise BadPattern(f"{glob!r} is no glob: {error}") from None
    return _placed(test, len(query.prefix), kept=glob == query.glob)


def _placed(test: Test, start: int, *, kept: bool) -> Callable[[str], bool]:
    return lambda path: test(matchable(path[start:])) is kept


def _start(query: Query) -> tuple[int, Rules | None]:
    """A descriptor of the folder to search, and the rules of the folders above it."""
    folder = os.open(query.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    above: Rules | None = None
    prefix = ""
    for part in query.parts:
        above = None if query.ignored else read_rules(folder, prefix, above)
        inner = os.open(part, FOLDER_FLAGS, dir_fd=folder)
        os.close(folder)
        folder, prefix = inner, f"{prefix}{part}/"
    return folder, above
