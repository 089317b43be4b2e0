"""`hookgate ext`: what is installed, and installing, switching and removing it. What it did goes to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import which

from hookgate import config as configuration
from hookgate.assembly.extensions.looking import judge_of
from hookgate.assembly.settings import ExtensionFlags
from hookgate.channels.printable import one_line
from hookgate.cli.agreeing import agreed_line
from hookgate.cli.printing import say, say_json, table, width_shown
from hookgate.extensions.discovery import Entry, Judge, Places, look
from hookgate.extensions.folders import InstallRefused, vanish
from hookgate.extensions.git import Git
from hookgate.extensions.install import install as put
from hookgate.extensions.installed import named
from hookgate.extensions.installed import switch as set_enabled
from hookgate.extensions.manifest import BadManifest, read_manifest
from hookgate.extensions.trust import Standing, Trust
from hookgate.program.endings import FAILED
from hookgate.sections import Config

COLUMNS = ("scope", "name", "version", "enabled", "language", "dir")


def configured(config_file: Path | None) -> Config:
    """Extensions can be managed where there is no configuration: then it is the usual one. Raises ConfigError."""
    there = config_file is not None or Path(configuration.FILE_NAME).exists()
    return configuration.load(config_file)[0] if there else Config()


def places_of(config_file: Path | None) -> Places:
    """Where a command looks, here and now. Raises ConfigError."""
    return _places(configured(config_file))


def _places(config: Config) -> Places:
    return Places(Path.cwd(), configuration.extensions_folder(), configuration.zot_home(config))


def list_extensions(config_file: Path | None, *, as_json: bool) -> int:
    """A table on stdout, in load order; what keeps one from being loaded stands behind its folder.

    Raises ConfigError.
    """
    config = configured(config_file)
    entries, problems = look(_places(config))
    for problem in problems:
        tell(f"hookgate: {problem.text}")
    judge = judge_of(config, ExtensionFlags())
    rows = [_row(entry, judge) for entry in entries]
    if as_json:
        say_json([dict(zip((*COLUMNS, "why_not"), row, strict=True)) for row in rows])
    elif rows:
        shown = ((*row[:-2], f"{row[-2]}  ({row[-1]})" if row[-1] else row[-2]) for row in rows)
        say("\n".join(table(shown, width_shown(), COLUMNS)))
    elif not problems:
        tell("no extensions installed")
    return FAILED if problems else 0


def install(source: str, places: Places, git: Git) -> int:
    return told(lambda: _installed(put(source, places.own, git)))


def _installed(directory: Path) -> tuple[str, ...]:
    """With what is still missing: nothing is built here."""
    done, path = f"installed {directory}", configuration.base_environment().get("PATH")
    missing = [it for it in read_manifest(directory).command(directory)[:1] if not which(it, path=path)]
    return (done, *(f"note: {program} cannot be started yet, and nothing is built here" for program in missing))


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
        if not (yes or agreed_line(f"remove {directory} ?")):
            return "aborted"
        vanish(directory)
        return f"removed {directory}"

    return told(removed)


def trust(name: str, places: Places, agreed: Trust) -> int:
    """A chat runs it without a question from now on, as long as it stays as it is."""

    def trusted() -> str:
        directory = _project_folder(name, places)
        standing = agreed.standing(directory)
        if standing.kind == "unreadable":
            raise InstallRefused(f"{directory}: {standing.reason}")
        agreed.agree(directory, standing.sha256)
        return f"trusted {directory}"

    return told(trusted)


def untrust(name: str, places: Places, agreed: Trust) -> int:
    """A folder that is gone can be named by its path."""

    def untrusted() -> str:
        directory = Path(os.path.abspath(name)) if os.sep in name else _named_here(name, places).directory
        return f"untrusted {directory}" if agreed.forget(directory) else f"{directory} was not trusted"

    return told(untrusted)


def _project_folder(name: str, places: Places) -> Path:
    """By name one of the project here, by path any. Raises InstallRefused."""
    if os.sep not in name:
        entry = _named_here(name, places)
        if entry.scope == "global":
            raise InstallRefused(f"{entry.directory} is installed: only a project's extensions are asked about")
        return entry.directory
    directory = Path(os.path.abspath(name))
    try:
        read_manifest(directory)
    except BadManifest as error:
        raise InstallRefused(f"{directory}: {error}") from None
    return directory


def told(command: Callable[[], str | tuple[str, ...]]) -> int:
    """Say what it did, in a line or several, or why it is not done; the exit status."""
    try:
        done = command()
    except InstallRefused as refused:
        tell(f"hookgate: {refused.lines[0]}", *refused.lines[1:])
        return FAILED
    tell(*([done] if isinstance(done, str) else done))
    return 0


def tell(*lines: str) -> None:
    """A name in one of them cannot begin another."""
    sys.stderr.writelines(f"{one_line(line)}\n" for line in lines)


def _named(name: str, places: Places) -> Entry:
    return named(name, _looked(places))


def _looked(places: Places) -> Sequence[Entry]:
    entries, problems = look(places)
    for problem in problems:
        tell(f"hookgate: {problem.text}")
    return entries


def _named_here(name: str, places: Places) -> Entry:
    """One of the project where it has one of this name: an installed one of the same name is not asked about."""
    entries = _looked(places)
    ours = [it for it in entries if it.scope == "project" and name in (it.name, it.directory.name)]
    return named(name, ours or entries)


def _row(entry: Entry, judge: Judge) -> tuple[str, ...]:
    """The cells of COLUMNS, and why it is not loaded."""
    manifest, directory = entry.manifest, str(entry.directory)
    if manifest is None:
        return entry.scope, entry.name, "", "", "", directory, entry.broken
    enabled = "yes" if manifest.enabled else "no"
    why = _distrusted(judge(entry.directory)) if entry.scope == "project" else ""
    return entry.scope, entry.name, manifest.version, enabled, manifest.language, directory, why


def _distrusted(standing: Standing) -> str:
    match standing.kind:
        case "trusted":
            return ""
        case "new":
            return "not trusted"
        case "changed":
            return "changed since it was trusted"
        case "unreadable":
            return f"cannot be trusted: {standing.reason}"
