"""Which of the running gateways a command means: that of its configuration file, else of its workspace; of several
the one that serves.

Who only looks is content with one of the others, and is told whose it is; a change is never asked of those.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from hookgate import config as configuration
from hookgate.channels.printable import printable
from hookgate.cli.printing import complain
from hookgate.config import ConfigError
from hookgate.control.client import (
    NO_ANSWER,
    ControlFailed,
    NothingRunning,
    call,
    find_socket,
    live_sockets,
    read_rows,
)
from hookgate.protocol.dataclasses import dataclass, replace

T = TypeVar("T")

PEOPLE = "people.list"
ABOUT_S = 5.0
"""One that is stuck must not keep the others from being asked."""


@dataclass(frozen=True)
class Home:
    """What a gateway runs: its configuration file and its workspace, absolute; empty where that is not known."""

    file: str = ""
    workspace: str = ""

    def is_of(self, other: Home) -> bool:
        same_file = bool(self.file) and self.file == other.file
        return same_file or (bool(self.workspace) and self.workspace == other.workspace)


@dataclass(frozen=True)
class Running:
    """`path`: its control socket. `looks`: methods that change nothing, by its own word. `strange`: it is neither of
    this configuration file nor of this workspace, as far as it says. `journal`: where it lies; empty: none
    is kept, or it does not say. `silent`: it says nothing."""

    path: Path
    home: Home = Home()
    pid: int = 0
    looks: frozenset[str] = frozenset()
    strange: bool = False
    journal: str = ""
    silent: bool = False

    @property
    def serves(self) -> bool:
        """Whether it has channels: a chat knows nobody who could be listed."""
        return PEOPLE in self.looks

    def is_of_file(self, here: Home) -> bool:
        return bool(here.file) and self.home.file == here.file

    @property
    def title(self) -> str:
        """Who answers, for people."""
        none = "No hookgate of this configuration file or workspace is running; the one"
        return printable(f"{none} at {self.path}{self.whose}:" if self.strange else f"The hookgate at {self.path}:")

    def tell(self) -> None:
        """On stderr, where the answer alone goes to stdout."""
        if self.strange:
            title = self.title.removesuffix(":").replace("No", "no", 1)
            sys.stderr.write(f"note: {title} is asked\n")
            sys.stderr.flush()

    def tell_silence(self) -> None:
        """On stderr: what waits there is told to nobody, and it may be the one that was meant."""
        if self.silent:
            complain(f"note: the hookgate at {self.path} gives no answer: it is stopped (Ctrl-Z), or stuck")

    @property
    def line(self) -> str:
        """For a list of what runs."""
        pid = f" (pid {self.pid})" if self.pid else ""
        return f"{self.path}{pid}{self.whose}"

    @property
    def whose(self) -> str:
        known = f", which works in {self.home.workspace} with {self.home.file}"
        return known if self.home != Home() else ", which does not say whose it is"


def running(config_file: Path | None, control: Path | None, looks: str = "") -> Running:
    """The one at `control`; without it that of this file, of this workspace, else another; of several the
    one that serves, then the newest. `looks`: of those that can be asked this.

    Raises NothingRunning.
    """
    if control is not None:
        return Running(find_socket(configuration.runtime_directory(), control))
    here, others = _here(config_file), list[Running]()
    try:
        for found in _all(here):
            found.tell_silence()
            if looks and looks not in found.looks:
                continue
            if found.serves and found.is_of_file(here):
                return found
            others.append(found)
    except NothingRunning as error:
        raise NothingRunning(unasked(config_file) or str(error)) from None
    for it in sorted(others, key=lambda it: (it.strange, not it.is_of_file(here), not it.serves)):
        return it
    raise NothingRunning(unasked(config_file) or f"no hookgate is running ({_none_answers()})")


def looked_at(config_file: Path | None, control: Path | None, looks: str = "") -> Running:
    """The one that whoever only looks means. Another's only where there is no configuration here: a script that
    watches this one must not see that one. `looks`: of several one that can be asked this. Raises NothingRunning."""
    if control is not None:
        return _asked(find_socket(configuration.runtime_directory(), control))
    found, file = running(config_file, None, looks), config_file or Path(configuration.FILE_NAME)
    if found.strange and file.exists():
        raise NothingRunning(
            unasked(config_file) or f"no hookgate of {file.resolve()} is running; another runs at {found.line}"
        )
    return found


def unasked(config_file: Path | None) -> str:
    """That the gateway of this configuration runs, though it has no control socket here; empty: as far as its
    journal says, none does."""
    from hookgate.assembly.journals import journal_place
    from hookgate.store.journal.engine.place import writer_of

    # Whatever is wrong with the file, that is not what was asked.
    with suppress(ConfigError):
        place = journal_place(configuration.load(config_file)[0])
        if isinstance(place, Path) and (process := writer_of(place)):
            off = f"its control socket is off ([control] enabled = false), or elsewhere: {_none_answers()}"
            return f"a gateway runs, process {process}, and cannot be asked: {off}"
    return ""


def _none_answers() -> str:
    return f"no control socket answers in {configuration.runtime_directory()}"


def others(config_file: Path | None, asked: Running | None, looks: str) -> Iterator[Running]:
    """Those that can be asked this besides the one that was, the newest first."""
    with suppress(NothingRunning):
        for it in _all(_here(config_file)):
            if looks in it.looks and (asked is None or it.path != asked.path):
                yield it


def running_for(method: str, config_file: Path | None, control: Path | None) -> Running:
    """The same for one call. Raises NothingRunning, which lists what runs, where another than was meant would be
    changed."""
    found = running(config_file, control)
    if not found.strange or method in found.looks:
        return found
    here = _here(config_file)
    place = f"with {here.file} or in {here.workspace}" if here.file else f"in {here.workspace}"
    lines = (f"  {it.line}" for it in _all(here))
    raise NothingRunning(
        f"no hookgate runs {place}, and {method} may change what it is asked of, so no other is asked. "
        "These run (--control PATH names one):\n" + "\n".join(lines)
    )


def asked(method: str, shape: type[T], found: Running, *, tell: bool) -> tuple[tuple[T, ...], str]:
    """The rows that this one answers with, and its title; `tell`: on stderr, since the title is not printed."""
    if tell:
        found.tell()
    return read_rows(shape, call(found.path, method)), found.title


def running_or_none(config_file: Path | None, control: Path | None) -> Running | None:
    """As `looked_at`; None where none runs. Raises NothingRunning where it was named and nobody listens."""
    try:
        return looked_at(config_file, control)
    except NothingRunning:
        if control is not None:
            raise
        return None


def ours(config_file: Path | None, control: Path | None, looks: str = "") -> Path | None:
    """The control socket of the gateway that keeps what this configuration keeps; another's has another catalog, as
    a rule. `looks`: of several the one that can be asked this, which changes nothing. Raises NothingRunning where it
    was named and nobody listens."""
    if looks and control is None:
        return next(all_ours(config_file, looks), None)
    found = running_or_none(config_file, control)
    return None if found is None or found.strange else found.path


def all_ours(config_file: Path | None, looks: str) -> Iterator[Path]:
    """The same of every one that can be asked this, the newest first: a chat runs beside a gateway."""
    here = _here(config_file)
    # Before the first start there is no folder to look in.
    with suppress(NothingRunning):
        yield from (it.path for it in _all(here) if not it.strange and looks in it.looks)


def _all(here: Home) -> Iterator[Running]:
    """The newest first."""
    for path in live_sockets(configuration.runtime_directory()):
        found = _asked(path)
        yield replace(found, strange=not found.home.is_of(here))


def _here(config_file: Path | None) -> Home:
    file = (config_file or Path(configuration.FILE_NAME)).resolve()
    workspace = Path.cwd()
    # Whatever is wrong with it, a gateway that runs can be asked.
    with suppress(ConfigError):
        workspace = configuration.workspace_folder(configuration.load(config_file)[0])
    return Home(str(file) if file.exists() else "", str(workspace))


def _asked(path: Path) -> Running:
    """Of one that gives no answer, or another than is expected, nothing is known but where it is."""
    try:
        answer = call(path, "gateway.about", deadline_s=ABOUT_S)
    except (ControlFailed, NothingRunning) as error:
        return Running(path, silent=isinstance(error, ControlFailed) and error.code == NO_ANSWER)
    match answer:
        case {"config": str(file), "workspace": str(workspace), "pid": int(pid), "methods": {**methods}}:
            table = cast("dict[str, Any]", methods)
            looks = frozenset(name for name, it in table.items() if it == {"changes": False})
            journal = cast("dict[str, Any]", answer).get("journal", "")
            return Running(path, Home(file, workspace), pid, looks, journal=str(journal))
        case _:
            return Running(path)
