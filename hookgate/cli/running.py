"""Which of the running gateways a command means: that of its configuration file or workspace, else the newest."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hookgate import config as configuration
from hookgate.channels.printable import printable
from hookgate.config import ConfigError
from hookgate.control.client import ControlFailed, NothingRunning, call, find_socket, live_sockets

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
    """`path`: its control socket. `strange`: it is neither of this configuration file nor of this workspace."""

    path: Path
    home: Home = Home()
    strange: bool = False

    @property
    def title(self) -> str:
        """Who answers, for people."""
        where = f", which works in {self.home.workspace} with {self.home.file}" if self.strange else ""
        return printable(f"The hookgate at {self.path}{where}:")

    def tell(self) -> None:
        """On stderr, where the answer alone goes to stdout."""
        if self.strange:
            sys.stderr.write(f"note: {self.title.removesuffix(':')} is asked\n")


def running(config_file: Path | None, control: Path | None) -> Running:
    """The one at `control`; without it that of this file, of this workspace, else the newest.

    Raises NothingRunning.
    """
    directory = configuration.runtime_directory()
    if control is not None:
        return Running(find_socket(directory, control))
    here, others = _here(config_file), list[Running]()
    for path in live_sockets(directory):
        home = _asked(path)
        if home.file and home.file == here.file:
            return Running(path, home)
        others.append(Running(path, home, strange=home != Home() and not home.is_of(here)))
    known = [it for it in others if it.home.is_of(here)]
    for it in (*known, *others):
        return it
    raise NothingRunning(f"no hookgate is running (no control socket answers in {directory})")


def _here(config_file: Path | None) -> Home:
    file = (config_file or Path(configuration.FILE_NAME)).resolve()
    workspace = Path.cwd()
    # Whatever is wrong with it, a gateway that runs can be asked.
    with suppress(ConfigError):
        workspace = configuration.workspace_folder(configuration.load(config_file)[0])
    return Home(str(file) if file.exists() else "", str(workspace))


def _asked(path: Path) -> Home:
    """Older ones know no such question."""
    try:
        answer = call(path, "gateway.about", deadline_s=ABOUT_S)
    except (ControlFailed, NothingRunning):
        return Home()
    match answer:
        case {"config": str(file), "workspace": str(workspace)}:
            return Home(file, workspace)
        case _:
            return Home()
