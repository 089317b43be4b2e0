"""The walls round a shell command: bubblewrap or Landlock, whichever this machine offers. Runs no tool.

Inside, the workspace and a private folder for temporary files are writable, everything else is read-only, and
the hidden paths are out of reach.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Literal

import structlog
import trio

from hookgate.processes.command import Command
from hookgate.processes.once import run_once
from hookgate.processes.private import open_private_folder, sweep
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.tools.errors import SandboxUnavailable, ToolError
from hookgate.tools.files.workspace import which_outside
from hookgate.tools.kept import Keep, Kept, nothing, unique
from hookgate.tools.shell.bubblewrap import bwrap_argv
from hookgate.tools.shell.landlock import Grants, launcher_argument

Mode = Literal["auto", "required", "off"]
Kind = Literal["bwrap", "landlock", "none"]

PREFIX = "hookgate-"
"""Of private folders; that of a made tool begins with it too."""
_PROBE_DEADLINE_S = 10.0
_MAX_NAMED = 6
"""Paths that a note or an error lists."""
_SHARED = "Shell commands write only the workspace and a private folder for temporary files"
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

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
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
        if self._required and sandbox.kind == "landlock" and (exposed := _exposed(sandbox)):
            reason = f"a sandbox is required, and Landlock would let commands change {_named(exposed)}"
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
        return replace(found, note=_landlock_note(found)) if found.kind == "landlock" else found


@asynccontextmanager
async def open_shelter(
    workspace: Path, environment: Mapping[str, str], limits: Limits, keep: Keep = nothing
) -> AsyncGenerator[Shelter]:
    """Finds the best sandbox by trying it, makes the private folder and removes it at the end.

    `environment` gives PATH and HOME. One that is not required is tried while the caller goes on; where one is
    required and none works, this raises SandboxUnavailable.
    """
    async with _folders() as base:
        bare, required = _bare(workspace, base, environment, limits), limits.mode == "required"
        shelter, choose = Shelter(bare, keep, required=required), partial(_choose, environment, limits)
        if required:
            await shelter.run(choose)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sweep, PREFIX)
            if not required:
                nursery.start_soon(shelter.run, choose)
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


def _bare(workspace: Path, base: Path, environment: Mapping[str, str], limits: Limits) -> Sandbox:
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


async def _choose(environment: Mapping[str, str], limits: Limits, bare: Sandbox) -> Sandbox:
    if limits.mode == "off":
        return replace(bare, note="The sandbox is switched off: shell commands have all rights of the gateway.")
    exposed = _exposed(bare) if limits.mode == "required" else ()
    for candidate in _candidates(bare, environment, strict=limits.mode == "required"):
        if candidate.kind == "landlock" and exposed:
            continue
        if await _holds(candidate, environment):
            _log.info("sandbox", kind=candidate.kind, note=candidate.note)
            return candidate
    if exposed:
        raise SandboxUnavailable(
            "a sandbox is required, but bwrap does not work on this machine, and Landlock would let shell commands "
            f"change {_named(exposed)}"
        )
    if limits.mode == "required":
        without = "" if bare.network else " without network"
        raise SandboxUnavailable(
            f"a sandbox{without} is required, but neither bwrap nor Landlock can be one on this machine"
        )
    note = "No sandbox works on this machine: shell commands have all rights of the gateway."
    _log.warning("sandbox", kind="none", note=note)
    return replace(bare, note=note)


def _candidates(bare: Sandbox, environment: Mapping[str, str], *, strict: bool) -> Iterator[Sandbox]:
    """The best one first. `strict`: none that leaves open what should be closed."""
    if program := which_outside("bwrap", environment.get("PATH", os.defpath), bare.workspace):
        yield replace(bare, kind="bwrap", note=f"{_SHARED} (bwrap).", program=program)
    for tcp_open in (False,) if bare.network or strict else (False, True):
        landlock = replace(bare, kind="landlock", tcp_open=tcp_open)
        yield replace(landlock, note=_landlock_note(landlock))


def _landlock_note(bare: Sandbox) -> str:
    return f"{_SHARED} (Landlock). {_landlock_gaps(bare)}"


def _landlock_gaps(bare: Sandbox) -> str:
    gaps = ["Unix sockets with a path stay reachable."]
    if bare.tcp_open:
        gaps.append("The network stays open: Landlock can close TCP from Linux 6.7 on.")
    elif not bare.network:
        gaps.append("TCP is closed, UDP stays open.")
    if any(path.is_relative_to(bare.workspace) for path in bare.hidden):
        gaps.append("Hidden paths inside the workspace stay readable.")
    exposed = _exposed(bare)
    if exposed:
        gaps.append(f"They can change what guards hookgate or tells its models what to do: {_named(exposed)}.")
    return " ".join(gaps)


def _exposed(bare: Sandbox) -> tuple[str, ...]:
    """What is kept inside the workspace, by its path there: Landlock can only grant the workspace as a whole."""
    inside = (path for path in (*bare.kept, *bare.unmade) if path.is_relative_to(bare.workspace))
    return tuple(dict.fromkeys(path.relative_to(bare.workspace).as_posix() for path in inside))


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
    return f"{', '.join(paths[:_MAX_NAMED])}{more}"


async def _holds(candidate: Sandbox, environment: Mapping[str, str]) -> bool:
    """Whether a command in it can write where it may, and only there."""
    script = 'printf x > "$1/probe" && ! printf x > "$2/probe"'
    locked = candidate.tmp.with_name("locked")
    # A mount makes the folder that it lies on: not before there is a command that must not make it.
    trial = replace(candidate, unmade=())
    argv = trial.wrap(["/bin/sh", "-c", script, "sh", str(candidate.tmp), str(locked)])
    try:
        # All of it ends with it: bwrap's inner half would wait for the outer one for ever.
        printed = await run_once(Command(argv, candidate.workspace, environment, _PROBE_DEADLINE_S))
    except OSError:
        return False
    written = (candidate.tmp / "probe").exists() and not (locked / "probe").exists()
    return printed.status == 0 and written
