"""The disk that forgets what was not synced, as a library for LD_PRELOAD: compiled where a machine can."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("power.c")
PATIENCE_S = 60.0


def power_shim(folder: Path) -> Path | None:
    """None where there is no C compiler."""
    compiler, library = shutil.which("cc"), folder / "power.so"
    if compiler is None:
        return None
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True, timeout=PATIENCE_S
    )
    return library
