"""`python -m tests.rewritten`: has pytest rewrite the assertions of files that have changed, once, on all cores. Each
worker of a run would do it for itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
TAG = f"{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"


def changed() -> list[Path]:
    """What pytest has not kept as it is now. It looks more closely itself: what is missed here costs time alone."""
    return [file for file in sorted(FOLDER.rglob("test_*.py")) if _kept_at(file) < file.stat().st_mtime]


def _kept_at(file: Path) -> float:
    kept = file.parent / "__pycache__" / f"{file.stem}.{TAG}"
    return kept.stat().st_mtime if kept.exists() else 0.0


def main() -> None:
    files = changed()
    cores = os.cpu_count() or 1
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    started = [
        subprocess.Popen([*command, *map(str, files[first::cores])], cwd=FOLDER.parent, stdout=subprocess.DEVNULL)
        for first in range(min(cores, len(files)))
    ]
    # What cannot be collected is told by the run.
    for process in started:
        process.wait()


if __name__ == "__main__":
    main()
