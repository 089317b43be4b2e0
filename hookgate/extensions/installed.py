"""Extensions that are there already: found by name, switched on and off, removed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from hookgate.extensions.discovery import Entry
from hookgate.extensions.folders import InstallRefused
from hookgate.extensions.manifest import FILE_NAME, BadManifest, parse_manifest, read_bytes
from hookgate.extensions.switch import switched
from hookgate.extensions.whole import write_whole


def named(name: str, entries: Iterable[Entry]) -> Entry:
    """The one whose folder or manifest has this name; of several a path chooses. Raises InstallRefused."""
    entries = list(entries)
    if os.sep in name:
        path = os.path.abspath(name)
        matches = [entry for entry in entries if str(entry.directory) == path]
    else:
        matches = [entry for entry in entries if name in (entry.name, entry.directory.name)]
    if not matches:
        raise InstallRefused(f'extension "{name}" not found')
    if len(matches) > 1:
        paths = [f"  {entry.directory}" for entry in matches]
        raise InstallRefused(f'extension "{name}" is more than one; give the path of one:', paths)
    return matches[0]


def switch(entry: Entry, *, enabled: bool) -> None:
    """Set `enabled` in its manifest; nothing is written where it says so already. Raises InstallRefused, OSError."""
    file = Path(os.path.realpath(entry.directory / FILE_NAME))
    try:
        data = read_bytes(file)
        manifest = parse_manifest(data)
    except BadManifest as error:
        raise InstallRefused(f"{entry.directory}: {error}") from None
    if manifest.enabled != enabled:
        changed = switched(data.decode("utf-8"), enabled=enabled).encode("utf-8")
        write_whole(file, changed, file.stat().st_mode & 0o7777)
