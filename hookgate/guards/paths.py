"""Paths as guards compare them: relative to the workspace, without detours; and which of them look like tests."""

from __future__ import annotations

import posixpath
import re

from hookgate.guards.remembered import SpecOf
from hookgate.protocol.values import ToolCall

_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "specs", "testdata"})
_TEST_NAME = re.compile(
    r"(?:test[_-](?P<after>.+)|(?P<before>.+?)(?:[_-]tests?|[._-]spec|\.test|(?<=[a-z0-9])Tests?)|conftest)\Z"
)


def changed_path(call: ToolCall, spec_of: SpecOf) -> str | None:
    """The file that a call is about to change; None where it names none or only reads."""
    path = call.arguments.get("path")
    if not isinstance(path, str) or not path:
        return None
    spec = spec_of(call.name)
    return path if spec is None or spec.mutates else None


def written_path(call: ToolCall, spec_of: SpecOf) -> str | None:
    """The file that a built-in tool is about to change. What other tools do with a `path`, nobody knows before."""
    spec = spec_of(call.name)
    built_in = spec is not None and spec.provider == "builtin"
    return changed_path(call, spec_of) if built_in else None


def inside(path: str, root: str) -> str:
    """Relative to `root` where it lies there, else absolute; no `.`, no `..`, no file is looked at."""
    whole = posixpath.normpath(posixpath.join(root, path))
    return posixpath.relpath(whole, root) if whole == root or whole.startswith(root.rstrip("/") + "/") else whole


def looks_like_test(path: str) -> bool:
    *folders, name = path.split("/")
    return bool(_TEST_FOLDERS.intersection(folder.lower() for folder in folders)) or tested(name) is not None


def tested(name: str) -> str | None:
    """For the name of a test file the name of what it tests, `conftest.py` tests nothing: an empty name."""
    stem, suffix = posixpath.splitext(posixpath.basename(name))
    found = _TEST_NAME.match(stem)
    if found is None:
        return None
    subject = found["after"] or found["before"]
    return f"{subject}{suffix}" if subject else ""


def are_pair(one: str, other: str) -> bool:
    """Whether one of the two files is the other's test, wherever they lie."""
    first, second = posixpath.basename(one), posixpath.basename(other)
    return tested(first) == second or tested(second) == first
