"""Which sandboxes this machine has, for tests that run under each of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hookgate.tools.shell import sandbox
from tests.machine import missing, no_walls


def landlock_is_here() -> bool:
    launcher = Path(sandbox.__file__).with_name("_landlock.py")
    spec = '{"read": ["/"], "write": [], "tcp": true}'
    argv = [sys.executable, "-I", "-S", str(launcher), spec, "true"]
    return subprocess.run(argv, check=False, capture_output=True, timeout=30).returncode == 0


_LANDLOCK = landlock_is_here()
_BWRAP = "bwrap" not in missing() and not no_walls()

BWRAP = pytest.mark.needs("bwrap")
NO_LANDLOCK = pytest.mark.skipif(not _LANDLOCK, reason="NOT TESTED: this kernel has no Landlock")
NO_SANDBOX = pytest.mark.skipif(not (_LANDLOCK or _BWRAP), reason="NOT TESTED: this machine offers no sandbox")
