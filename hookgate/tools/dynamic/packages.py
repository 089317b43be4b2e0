"""The packages that a made tool requires: what a row says, and whether it may have them. Installs nothing."""

from __future__ import annotations

from collections.abc import Iterable

from hookgate.protocol.catalog import ToolRow


def required(row: ToolRow) -> tuple[str, ...]:
    named = row.spec.get("requires")
    return tuple(map(str, named)) if isinstance(named, list | tuple) else ()


def lacking(packages: Iterable[str], allowed: tuple[str, ...]) -> str:
    """Why a tool may not have these packages; empty where it may."""
    for package in packages:
        if package not in allowed:
            known = ", ".join(allowed) or "none besides the standard library"
            return f"requires: {package[:80]!r} is not allowed; packages that are: {known}"
        if not _installed(package):
            return f"requires: {package[:80]!r} is not installed"
    return ""


def _installed(package: str) -> bool:
    # Imports the mail package, which nobody else here needs.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution(package)
    except (PackageNotFoundError, ValueError):
        return False
    return True
