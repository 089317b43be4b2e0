"""Which extensions there are and which of them are loaded, in what order. Starts nothing, logs nothing.

`look` reads the folders; `arranged` decides, by what it is told of trust.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from hookgate.extensions.manifest import BadManifest, Manifest, NoManifest, read_manifest
from hookgate.extensions.trust import TRUSTED, Standing
from hookgate.protocol.dataclasses import dataclass

Scope = Literal["ext", "project", "global"]
"""Named by `--ext`; found in the project; found in a folder of the user's."""

PROJECT_FOLDERS = (".hookgate/extensions", ".zot/extensions")
ZOT_FOLDER = "extensions"


@dataclass(frozen=True, slots=True)
class Places:
    """Where extensions live. `project` is the user's working folder, None: nothing there may run.

    `own` is hookgate's folder of extensions, where they are installed; `home` is zot's home.
    """

    project: Path | None
    own: Path
    home: Path

    @property
    def folders(self) -> tuple[tuple[Scope, Path], ...]:
        """In load order."""
        mine: list[tuple[Scope, Path]] = []
        if self.project is not None:
            mine.extend(("project", self.project / folder) for folder in PROJECT_FOLDERS)
        return (*mine, ("global", self.own), ("global", self.home / ZOT_FOLDER))


@dataclass(frozen=True, slots=True)
class Problem:
    """One extension, or a folder of them, that cannot be loaded; the others can."""

    directory: Path
    reason: str

    @property
    def text(self) -> str:
        return f"extension load: {self.directory}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A folder that holds an extension, or a manifest that is none: then `broken` says why."""

    scope: Scope
    directory: Path
    manifest: Manifest | None = None
    broken: str = ""

    @property
    def name(self) -> str:
        """The manifest's, else the folder's."""
        return self.manifest.name if self.manifest else self.directory.name


@dataclass(frozen=True, slots=True)
class Candidate:
    """An extension to start: `command` in `directory`, empty where there is nothing to start; `index` is its place in
    the load order, from 0. `standing`: how it was judged; of the user's own nobody takes a digest."""

    name: str
    directory: Path
    command: tuple[str, ...]
    index: int
    scope: Scope
    manifest: Manifest
    standing: Standing = TRUSTED


@dataclass(frozen=True, slots=True)
class Shadowed:
    """An extension that is not loaded since `by` comes before it, under the same name or folder name."""

    entry: Entry
    by: Path

    @property
    def text(self) -> str:
        return f"extension {self.entry.name}: {self.entry.directory} is not loaded, {self.by} comes first"


@dataclass(frozen=True, slots=True)
class Stranger:
    """An extension of the project that nobody has agreed to run, as it is now."""

    entry: Entry
    manifest: Manifest
    standing: Standing

    @property
    def text(self) -> str:
        directory = self.entry.directory
        who, quoted = f"extension {self.entry.name} ({directory})", shlex.quote(str(directory))
        match self.standing.kind:
            case "unreadable":
                return f"{who} cannot be trusted: {self.standing.reason}; --ext {quoted} loads it all the same"
            case "changed":
                return f"{who} has changed since it was trusted: run 'hookgate ext trust {quoted}' to load it"
            case _:
                return f"{who} is not trusted yet: run 'hookgate ext trust {quoted}' to load it"


@dataclass(frozen=True, slots=True)
class FoundExtensions:
    """`candidates` in load order. `disabled` may be listed; none of the rest is started."""

    candidates: tuple[Candidate, ...] = ()
    disabled: tuple[Entry, ...] = ()
    shadowed: tuple[Shadowed, ...] = ()
    problems: tuple[Problem, ...] = ()
    strangers: tuple[Stranger, ...] = ()


Judge = Callable[[Path], Standing]
"""How far the folder of a project's extension is trusted. Only these are judged: the rest a person put there."""


def everybody(_directory: Path) -> Standing:
    return TRUSTED


def find(named: Sequence[Path], places: Places | None, judge: Judge = everybody) -> FoundExtensions:
    """What is to be loaded: the folders named by `--ext`, then those at the places; None (`--no-ext`): only those."""
    return arranged(*there(named, places), judge)


def there(named: Sequence[Path], places: Places | None) -> tuple[list[Entry], tuple[Problem, ...]]:
    """The same, as it lies there."""
    entries = [_named(path) for path in named]
    if places is None:
        return entries, ()
    installed, problems = look(places)
    return [*entries, *installed], problems


def look(places: Places) -> tuple[list[Entry], tuple[Problem, ...]]:
    """Every extension at these places in load order, and the folders that cannot be listed."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for scope, folder in places.folders:
        try:
            directories = _directories(folder)
        except OSError as error:
            problems.append(Problem(folder, f"cannot be listed: {error.strerror}"))
            continue
        entries.extend(entry for directory in directories if (entry := _installed(scope, directory)) is not None)
    return entries, tuple(problems)


def arranged(
    entries: Iterable[Entry], problems: tuple[Problem, ...] = (), judge: Judge = everybody
) -> FoundExtensions:
    """Of one manifest name the first counts; a project's folder hides the user's of the same name, if it is trusted:
    no stranger switches off what somebody has installed. A judge is asked once about each folder of `doubtful`."""
    candidates: dict[str, Candidate] = {}
    disabled: list[Entry] = []
    shadowed: list[Shadowed] = []
    strangers: list[Stranger] = []
    broken = list(problems)
    of_project: dict[str, Path] = {}
    entries = list(entries)
    judged = {entry.directory: judge(entry.directory) for entry in doubtful(entries)}
    for entry in entries:
        standing = judged.get(entry.directory, _UNASKED) if entry.scope == "project" else TRUSTED
        hides = of_project.get(entry.directory.name) if entry.scope == "global" else None
        if entry.scope == "project" and standing.kind == "trusted":
            of_project.setdefault(entry.directory.name, entry.directory)
        if hides is not None:
            shadowed.append(Shadowed(entry, hides))
        elif entry.manifest is None:
            broken.append(Problem(entry.directory, entry.broken))
        elif not entry.manifest.enabled:
            disabled.append(entry)
        elif (first := candidates.get(entry.name)) is not None:
            # One folder may be named and found as well.
            if first.directory != entry.directory:
                shadowed.append(Shadowed(entry, first.directory))
        elif standing.kind != "trusted":
            strangers.append(Stranger(entry, entry.manifest, standing))
        else:
            command = entry.manifest.command(entry.directory)
            place = len(candidates)
            candidates[entry.name] = Candidate(
                entry.name, entry.directory, command, place, entry.scope, entry.manifest, standing
            )
    return FoundExtensions(
        tuple(candidates.values()), tuple(disabled), tuple(shadowed), tuple(broken), tuple(strangers)
    )


_UNASKED = Standing("new")


def doubtful(entries: Sequence[Entry]) -> list[Entry]:
    """Those of the project on whose trust something depends: what would run, and what may hide a folder of the
    user's. To judge one means to read all that it holds."""
    hidden = {entry.directory.name for entry in entries if entry.scope == "global"}
    mine = [entry for entry in entries if entry.scope == "project"]
    return [it for it in mine if (it.manifest and it.manifest.enabled) or it.directory.name in hidden]


def _directories(folder: Path) -> list[Path]:
    """Sorted by name. Those that begin with a dot are half installed or half removed."""
    folder = Path(os.path.abspath(folder))
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return [folder / name for name in sorted(names, key=os.fsencode) if not name.startswith(".")]


def _named(path: Path) -> Entry:
    directory = Path(os.path.abspath(path))
    try:
        return _read("ext", directory)
    except NoManifest as error:
        return Entry("ext", directory, broken=str(error))


def _installed(scope: Scope, directory: Path) -> Entry | None:
    """None where there is no manifest: that is something else, or a plain file beside the folders."""
    try:
        entry = _read(scope, directory)
    except NoManifest:
        return None
    return entry if entry.manifest or directory.is_dir() else None


def _read(scope: Scope, directory: Path) -> Entry:
    """Raises NoManifest."""
    try:
        return Entry(scope, directory, read_manifest(directory))
    except NoManifest:
        raise
    except BadManifest as error:
        return Entry(scope, directory, broken=str(error))
