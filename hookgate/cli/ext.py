"""`hookgate ext`: what is installed, and installing, switching and removing it. What it did goes to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hookgate import config as configuration
from hookgate.channels.printable import printable
from hookgate.cli.endings import FAILED
from hookgate.extensions.discovery import Entry, Places, look
from hookgate.extensions.folders import Refused, vanish
from hookgate.extensions.git import Git
from hookgate.extensions.install import install as put
from hookgate.extensions.installed import named
from hookgate.extensions.installed import switch as set_enabled
from hookgate.sections import Config

COLUMNS = ("scope", "name", "version", "enabled", "language", "dir")


def configured(config_file: Path | None) -> Config:
    """Extensions can be managed where there is no configuration: then it is the usual one. Raises ConfigError."""
    there = config_file is not None or Path(configuration.FILE_NAME).exists()
    return configuration.load(config_file)[0] if there else Config()


def places_of(config_file: Path | None) -> Places:
    """Where a command looks, here and now. Raises ConfigError."""
    home = configuration.zot_home(configured(config_file))
    return Places(Path.cwd(), configuration.extensions_folder(), home)


def list_extensions(places: Places) -> int:
    """A table on stdout, in load order; what cannot be read has its reason behind its folder."""
    entries, problems = look(places)
    for problem in problems:
        tell(f"hookgate: {problem.text}")
    if entries:
        sys.stdout.writelines(f"{line}\n" for line in _aligned([COLUMNS, *map(_row, entries)]))
    elif not problems:
        tell("no extensions installed")
    return FAILED if problems else 0


def install(source: str, places: Places, git: Git) -> int:
    return told(lambda: f"installed {put(source, places.own, git)}")


def switch(name: str, places: Places, *, enabled: bool) -> int:
    """`enable` and `disable`."""

    def switched() -> str:
        set_enabled(_named(name, places), enabled=enabled)
        return f"{'enabled' if enabled else 'disabled'} {name}"

    return told(switched)


def remove(name: str, places: Places, *, yes: bool) -> int:
    """Asks on stdin unless `yes`."""

    def removed() -> str:
        directory = _named(name, places).directory
        if not (yes or _agreed(f"remove {directory} ? [y/N] ")):
            return "aborted"
        vanish(directory)
        return f"removed {directory}"

    return told(removed)


def told(command: Callable[[], str]) -> int:
    """Say what it did, or why it is not done; the exit status."""
    try:
        done = command()
    except Refused as refused:
        tell(f"hookgate: {refused}")
        return FAILED
    tell(done)
    return 0


def tell(text: str) -> None:
    sys.stderr.write(printable(text) + "\n")


def _named(name: str, places: Places) -> Entry:
    entries, problems = look(places)
    for problem in problems:
        tell(f"hookgate: {problem.text}")
    return named(name, entries)


def _agreed(question: str) -> bool:
    sys.stderr.write(printable(question))
    sys.stderr.flush()
    return sys.stdin.readline().strip() in ("y", "Y")


def _row(entry: Entry) -> Sequence[str]:
    manifest = entry.manifest
    if manifest is None:
        return (entry.scope, entry.name, "", "", "", f"{entry.directory}  ({entry.broken})")
    enabled = "yes" if manifest.enabled else "no"
    return (entry.scope, entry.name, manifest.version, enabled, manifest.language, str(entry.directory))


def _aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [[_cell(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return [line.rstrip() for line in lines]


def _cell(text: str) -> str:
    return printable(text).replace("\n", "\\n").replace("\t", "\\t") or "-"
