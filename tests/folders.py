"""Folders that are gone with whoever made them, however that ends: a keeper waits for that."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

KEEPER = """
import os, shutil, sys, time
sys.stdin.read()
# Who still writes there is about to end too.
for _ in range(100):
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    if not os.path.exists(sys.argv[1]):
        break
    time.sleep(0.1)
"""


@contextmanager
def open_folder(prefix: str, place: Path | None = None) -> Generator[Path]:
    """A new one; None: where temporary files are."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    keeper = [sys.executable, "-S", "-E", "-c", KEEPER, str(folder)]
    # What is typed at a terminal is not for it.
    with subprocess.Popen(keeper, stdin=subprocess.PIPE, start_new_session=True):
        yield folder
