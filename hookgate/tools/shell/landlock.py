"""What Landlock lets a command do, as the launcher is told: it can only grant, so what is hidden is gone round."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


@dataclass(frozen=True, slots=True)
class Grants:
    """`tops`: what may be read, but for what is `hidden`; `writable`: folders."""

    tops: Sequence[Path]
    hidden: Sequence[Path]
    writable: Sequence[Path]
    network: bool


def launcher_argument(grants: Grants) -> str:
    spec = {
        "read": [str(path) for top in grants.tops for path in _around(grants.hidden, top)],
        "write": [*map(str, grants.writable), *DEVICES],
        "tcp": grants.network,
    }
    return encode(spec).decode()


def _around(hidden: Sequence[Path], top: Path) -> list[Path]:
    """The fewest paths that cover `top` but nothing hidden: Landlock can only grant.

    Links are left out: where they lead is covered by its own path, or hidden.
    """
    inside = [path for path in hidden if path.is_relative_to(top)]
    if not inside:
        return [top]
    if top in inside:
        return []
    try:
        children = sorted(child for child in top.iterdir() if not child.is_symlink())
    except OSError:
        return []
    return [path for child in children for path in _around(inside, child)]
