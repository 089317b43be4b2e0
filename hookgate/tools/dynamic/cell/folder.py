"""How much the private folder of a program holds, whatever the program puts there; blocks."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from hookgate.processes.private import entries_of

MAX_FOLDER_BYTES, MAX_FOLDER_FILES = 256 << 20, 10_000
"""What it may hold; no limit of the kernel's counts more than one file."""
MAX_DEPTH = 64
"""What lies deeper than a path can say is not counted, so nothing may."""


def too_much(folder: Path) -> str:
    """Why it holds too much; empty where it does not."""
    waiting, files, used = [(str(folder), 0)], 0, 0
    while waiting:
        top, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return f"its private folder holds folders more than {MAX_DEPTH} deep"
        try:
            entries = entries_of(top)
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
