"""The walls of bubblewrap: what a sandbox allows, as the arguments of `bwrap`. Starts nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookgate.tools.shell.sandbox import Sandbox

_EMPTIED = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - they are emptied, not used


def bwrap_argv(sandbox: Sandbox) -> list[str]:
    """Later mounts lie over earlier ones: shared temporary folders vanish first, what is hidden goes last.

    No --die-with-parent: to the kernel the parent is a thread, and the one that starts processes ends when it idles.
    """
    workspace, tmp = str(sandbox.workspace), str(sandbox.tmp)
    argv = [
        sandbox.program,
        "--unshare-all",
        "--cap-drop",
        "ALL",
        *_machine(sandbox),
        "--dev",
        "/dev",
        "--proc",
        "/proc",
    ]
    argv += ["--share-net"] if sandbox.network else []
    emptied = [path for path in _EMPTIED if Path(path).is_dir() and not Path(path).is_symlink() and not sandbox.only]
    for path in emptied:
        argv += ["--tmpfs", path]
    # Where /etc/resolv.conf points on many systems: without it no name resolves.
    argv += [] if sandbox.only else ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"]
    argv += ["--bind", workspace, workspace, "--bind", tmp, tmp]
    for path in sandbox.shown:
        argv += ["--ro-bind", str(path), str(path)]
    argv += _kept(sandbox)
    for path in _hidden(sandbox):
        argv += ["--tmpfs", str(path)] if path.is_dir() else ["--ro-bind", "/dev/null", str(path)]
    for path in emptied if sandbox.shown else ():
        # What shows a program there made folders round it, which are nobody's to write.
        argv += ["--remount-ro", path]
    # What is left of the root is where mounts lie, and nobody's to write.
    argv += ["--remount-ro", "/"] if sandbox.only else []
    return [*argv, "--chdir", workspace]


def _machine(sandbox: Sandbox) -> list[str]:
    """What there is of the machine's files at all, read-only."""
    if not sandbox.only:
        return ["--ro-bind", "/", "/"]
    return [word for path in sandbox.only for word in ("--ro-bind-try", str(path), str(path))]


def _hidden(sandbox: Sandbox) -> list[Path]:
    """What is not there need not be hidden: to hide it would tell its name."""
    there = (*sandbox.only, *sandbox.shown, sandbox.workspace) if sandbox.only else (Path("/"),)
    return [path for path in sandbox.hidden if any(path.is_relative_to(it) for it in there)]


def _kept(sandbox: Sandbox) -> list[str]:
    """What is kept is read-only, and each folder above it a mount of its own, so that none of them can be renamed.

    Where there is no folder for extensions nobody can make one: what lies in it would run at the next start.
    """
    argv: list[str] = []
    inside = [path for path in sandbox.kept if path.is_relative_to(sandbox.workspace)]
    above = {it for path in inside for it in path.parents if it.is_relative_to(sandbox.workspace)}
    for folder in sorted(above - {sandbox.workspace}):
        argv += ["--bind-try", str(folder), str(folder)]
    for path in inside:
        argv += ["--ro-bind-try", str(path), str(path)]
    for folder in sandbox.unmade:
        argv += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    return argv
