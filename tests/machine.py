"""What a test can say about the machine it runs on: programs that are not on PATH. Knows no program of hookgate's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol


class Without(Protocol):
    def __call__(self, *names: str) -> str:
        """From here on PATH, which is returned, has none of these programs, and all others that it had."""
        ...


def link_programs(folder: Path, path: str, names: frozenset[str]) -> None:
    """Into `folder` a link to every program on `path` that has none of these names; the first of a name counts."""
    for place in map(Path, path.split(os.pathsep)):
        for program in place.iterdir() if place.is_dir() else ():
            link = folder / program.name
            if program.name not in names and not link.is_symlink() and os.access(program, os.X_OK):
                link.symlink_to(program)
