"""The walls round a shell command: bubblewrap or Landlock, whichever this machine offers. Runs no tool.

Inside, the workspace and a private folder for temporary files are writable, everything else is read-only, and
the hidden paths are out of reach.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Literal

import trio

from hookgate.processes.private import open_private_folder, sweep
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.tools.errors import ToolError
from hookgate.tools.kept import Keep, Kept, nothing, unique
from hookgate.tools.shell.bubblewrap import bwrap_argv
from hookgate.tools.shell.choosing import choose, exposed, landlock_note, named
from hookgate.tools.shell.landlock import Grants, launcher_argument

Mode = Literal["auto", "required", "off"]
Kind = Literal["bwrap", "landlock", "none"]

PREFIX = "hookgate-"
"""Of private folders; that of a made tool begins with it too."""
_LAUNCHER = Path(__file__).with_name("_landlock.py")
_SECRETS = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".config/gcloud",
    ".config/gh",
    ".config/hookgate",
)
"""Below HOME: what a command has no business reading."""


@dataclass(frozen=True, slots=True)
class SandboxOptions:
    """What the operator wants."""

    mode: Mode = "auto"
    network: bool = True


@dataclass(frozen=True, slots=True)
class Sandbox:
    """`tmp` is the one writable folder besides the workspace; `note` tells a person what holds and what does not.

    `hidden` are files and folders that no command may read; `kept` are inside the workspace, and yet read-only, which
    only bwrap can do.
    """

    kind: Kind
    workspace: Path
    tmp: Path
    note: str
    network: bool = True
    hidden: tuple[Path, ...] = field(default=())
    kept: tuple[Path, ...] = field(default=())
    unmade: tuple[Path, ...] = field(default=())
    """Folders of the workspace that are not there and must not be made by a command."""
    shown: tuple[Path, ...] = field(default=())
    """Read-only even where the folder round them is emptied: the program that is to run."""
    only: tuple[Path, ...] = field(default=())
    """Where there are some, these and `shown` are all that can be read; else everything that is not hidden."""
    program: str = "bwrap"
    """Where bubblewrap is."""
    tcp_open: bool = False
    """Although there should be no network: an older Landlock cannot close it."""

    async def chosen(self) -> Sandbox:
        return self

    def wrap(self, argv: Sequence[str]) -> list[str]:
        """The command that runs `argv` inside. Reads folders to see what to hide, so it blocks a little."""
        match self.kind:
            case "bwrap":
                return [*bwrap_argv(self), "--", *argv]
            case "landlock":
                tops = (*self.only, *self.shown) if self.only else (Path("/"),)
                grants = Grants(tops, self.hidden, (self.workspace, self.tmp), self.network or self.tcp_open)
                return [sys.executable, "-I", "-S", str(_LAUNCHER), launcher_argument(grants), *argv]
            case "none":
                return list(argv)


class Shelter:
    """A sandbox that is still being tried out: what its kind does not decide is known at once.

    `keep`: what is kept is asked for anew by each command, since an editor or a reload may have changed it.
    """

    def __init__(self, bare: Sandbox, keep: Keep, *, required: bool) -> None:
        self.workspace, self.tmp = bare.workspace, bare.tmp
        self.made: set[Path] = set()
        """Folders that mounts needed to lie on."""
        self._bare, self._keep, self._required = bare, keep, required
        self._chosen: Sandbox | None = None
        self._tried = trio.Event()

    async def chosen(self) -> Sandbox:
        """As it stands for a command that starts now. Raises ToolError where a sandbox is required, and what is kept
        by now is more than this one can keep."""
        await self._tried.wait()
        assert self._chosen  # noqa: S101 - set before the event
        sandbox = await self.keeping(self._chosen)
        if self._required and sandbox.kind == "landlock" and (open_ := exposed(sandbox)):
            reason = f"a sandbox is required, and Landlock would let commands change {named(open_)}"
            raise ToolError("permission", "bash", reason)
        self.made.update(sandbox.unmade if sandbox.kind == "bwrap" else ())
        return sandbox

    async def run(self, choose: Callable[[Sandbox], Awaitable[Sandbox]]) -> None:
        self._chosen = await choose(await self.keeping(self._bare))
        self._tried.set()

    async def keeping(self, sandbox: Sandbox) -> Sandbox:
        return await trio.to_thread.run_sync(self._keeping, sandbox)

    def _keeping(self, sandbox: Sandbox) -> Sandbox:
        kept, root = self._keep(), sandbox.workspace
        hidden = (*self._bare.hidden, *(Path(os.path.realpath(path)) for path in kept.hidden if path.exists()))
        unmade = _unmade(root, kept, self.made)
        there = (Path(os.path.realpath(path)) for path in kept.there())
        inside = unique(path for path in there if path != root and path not in unmade)
        found = replace(sandbox, hidden=unique(hidden), kept=inside, unmade=unmade)
        return replace(found, note=landlock_note(found)) if found.kind == "landlock" else found


@asynccontextmanager
async def open_shelter(
    workspace: Path, environment: Mapping[str, str], limits: SandboxOptions, keep: Keep = nothing
) -> AsyncGenerator[Shelter]:
    """Finds the best sandbox by trying it, makes the private folder and removes it at the end.

    `environment` gives PATH and HOME. One that is not required is tried while the caller goes on; where one is
    required and none works, this raises SandboxUnavailable.
    """
    async with _folders() as base:
        bare, required = _bare(workspace, base, environment, limits), limits.mode == "required"
        shelter, trial = Shelter(bare, keep, required=required), partial(choose, environment, limits)
        if required:
            await shelter.run(trial)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sweep, PREFIX)
            if not required:
                nursery.start_soon(shelter.run, trial)
            try:
                yield shelter
            finally:
                # A mount needs a folder to lie on, which was nobody's wish.
                for folder in sorted(shelter.made, reverse=True):
                    with suppress(OSError):
                        folder.rmdir()
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def _folders() -> AsyncGenerator[Path]:
    """The private folder, removed at the end."""
    async with open_private_folder(PREFIX) as base:
        for name in ("tmp", "locked"):
            (base / name).mkdir()
        yield base


def secrets_below(home: Path) -> tuple[Path, ...]:
    """The usual secrets that exist in this home."""
    return tuple(home / name for name in _SECRETS if (home / name).exists())


def _bare(workspace: Path, base: Path, environment: Mapping[str, str], limits: SandboxOptions) -> Sandbox:
    home = environment.get("HOME", "")
    secrets = tuple(Path(os.path.realpath(path)) for path in secrets_below(Path(home))) if home else ()
    return Sandbox("none", Path(os.path.realpath(workspace)), base / "tmp", "", limits.network, secrets)


def _unmade(root: Path, kept: Kept, made: Container[Path]) -> tuple[Path, ...]:
    """The topmost folder of each that is missing in the workspace; what only a mount has made counts as missing."""
    absent = (
        [it for it in (path, *path.parents) if it.is_relative_to(root) and not _is_there(it, made)]
        for path in kept.folders
    )
    # Each is looked at once, for somebody may make it meanwhile.
    return unique(tops[-1] for tops in absent if tops and _can_be_made(tops[-1]))


def _can_be_made(folder: Path) -> bool:
    """Not on what is mounted read-only, nor in somebody else's folder that is closed: no command makes it there, and
    a mount has nothing to lie on. Its owner could open a closed one."""
    above = folder.parent
    try:
        closed = not os.access(above, os.W_OK) and above.stat().st_uid != os.geteuid()
        return not (closed or os.statvfs(above).f_flag & os.ST_RDONLY)
    except OSError:
        return True


def _is_there(path: Path, made: Container[Path]) -> bool:
    try:
        return path.exists() and not (path in made and path.is_dir() and not any(path.iterdir()))
    except OSError:
        return False
