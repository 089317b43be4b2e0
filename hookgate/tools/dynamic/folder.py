"""A private folder that a program fills as it likes: how much it holds, and how it is removed. Blocks.

Whatever lies there, neither follows a link out of it nor goes as deep as it is nested.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

MAX_FOLDER_BYTES, MAX_FOLDER_FILES = 256 << 20, 10_000
"""What it may hold; no limit of the kernel's counts more than one file."""
MAX_DEPTH = 64
"""What lies deeper than a path can say is not counted, so nothing may."""
LONG_PATH = 300
"""In characters. A name that follows still fits in a path, and looking it up is quick."""


def too_much(folder: Path) -> str:
    """Why it holds too much; empty where it does not."""
    waiting, files, used = [(str(folder), 0)], 0, 0
    while waiting:
        top, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return f"its private folder holds folders more than {MAX_DEPTH} deep"
        try:
            entries = _entries(top)
        except PermissionError:
            return "its private folder holds a folder that cannot be read"
        for entry in entries:
            files += 1
            with suppress(OSError):
                used += entry.stat(follow_symlinks=False).st_blocks * 512
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, depth + 1))
            # A longer look would take as long as there are files.
            if used > MAX_FOLDER_BYTES or files > MAX_FOLDER_FILES:
                return f"its private folder holds more than {MAX_FOLDER_BYTES} bytes or {MAX_FOLDER_FILES} files"
    return ""


def remove(base: Path) -> None:
    """Everything; what cannot be removed stays. Nobody else may write in `base` itself, and nothing runs in it."""
    waiting, moved = [str(base)], 0
    emptied: list[str] = []
    while waiting:
        folder = waiting.pop()
        emptied.append(folder)
        for entry in _readable(folder):
            if not entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    os.unlink(entry.path)
                continue
            below = entry.path
            with suppress(OSError):
                os.chmod(below, 0o700)
                if len(below) > LONG_PATH:
                    # Out to the top: a path to it stays short, however deep it was.
                    moved += 1
                    os.rename(below, below := f"{base}/moved-{moved}")
                waiting.append(below)
    for folder in reversed(emptied):
        with suppress(OSError):
            os.rmdir(folder)


def _readable(folder: str) -> list[os.DirEntry[str]]:
    try:
        return _entries(folder)
    except PermissionError:
        return []


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Nothing of a folder that is gone. Raises PermissionError."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        raise
    except OSError:
        return []
