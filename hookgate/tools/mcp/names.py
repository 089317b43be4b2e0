"""The names that a server's tools get: the connection's name, two underscores, the tool's own. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from hashlib import sha256

_BAD = re.compile(r"[^A-Za-z0-9_.-]")
LONGEST = 64
_KEPT = 55


def exposed(connection: str, tools: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """The name of each tool, by the server's own. `taken`: names that others have."""
    names: dict[str, str] = {}
    used = set(taken)
    # Sorted, so that the same tools get the same names in whatever order a server lists them.
    for tool in sorted(set(tools)):
        plain = f"{connection}__{tool}"
        name = plain if _fits(plain) and plain not in used else _hashed(plain)
        names[tool] = name
        used.add(name)
    return names


def _fits(name: str) -> bool:
    return len(name) <= LONGEST and not _BAD.search(name)


def _hashed(plain: str) -> str:
    digest = sha256(plain.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{_BAD.sub('_', plain)[:_KEPT]}_{digest}"
