"""The rules of `.gitignore` files: which paths they leave out. Opens one file; walks nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.opening import READ
from hookgate.tools.search.query import BadPattern
from hookgate.tools.search.regex import Test, compiled, matchable, of_glob

_MAX_BYTES = 256 * 1024
_MAX_RULES = 2000
_TRAILING_BLANKS = re.compile(r"(?<!\\)[ \t\r]+$")


@dataclass(frozen=True, slots=True)
class _Rule:
    test: Test
    keeps: bool
    folders_only: bool


class Rules:
    """The rules of one folder, and of those above it where it has no opinion."""

    def __init__(self, prefix: str, lines: list[str], above: Rules | None) -> None:
        self._start, self._above = len(prefix), above
        read = list(_rules(lines))
        self._rules = tuple(rule for rule, _ in reversed(read))
        self._any = _joined([regex for _, regex in read])

    def ignores(self, path: str, folder: bool) -> bool:
        """`path` is relative to the root; of the last rule that matches it, in the deepest folder, holds the word."""
        name = matchable(path[self._start :])
        if self._any(name):
            for rule in self._rules:
                if (folder or not rule.folders_only) and rule.test(name):
                    return not rule.keeps
        return self._above is not None and self._above.ignores(path, folder)


def read_rules(folder: int, prefix: str, above: Rules | None) -> Rules | None:
    """What holds in the folder with this descriptor: with its own file, or as it is above."""
    try:
        descriptor = os.open(".gitignore", READ, dir_fd=folder)
    except OSError:
        return above
    try:
        text = os.read(descriptor, _MAX_BYTES)
    except OSError:
        return above
    finally:
        os.close(descriptor)
    return Rules(prefix, text.decode("utf-8", "replace").splitlines()[:_MAX_RULES], above)


def _rules(lines: list[str]) -> Iterator[tuple[_Rule, str]]:
    for line in lines:
        pattern = _TRAILING_BLANKS.sub("", line)
        if not pattern or pattern.startswith("#"):
            continue
        keeps = pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        body = pattern.rstrip("/")
        try:
            # A slash that is not the last ties the pattern to this folder.
            regex = of_glob(body.removeprefix("/"), anywhere="/" not in body)
            yield _Rule(compiled(regex), keeps, pattern.endswith("/")), regex
        except BadPattern:
            continue


def _joined(regexes: list[str]) -> Test:
    """One test for all of them: most paths match none."""
    if not regexes:
        return lambda _: False
    try:
        return compiled("|".join(f"(?:{regex})" for regex in regexes))
    except BadPattern:
        return lambda _: True
