"""Where one run of a program lives: a private folder, the walls round it, the limits on it. Knows no tool.

Inside, the private folder is all that can be written; it is new for each run, and gone after it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from hookgate.processes.private import open_private_folder
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.tools.dynamic.cell.folder import too_much
from hookgate.tools.dynamic.cell.tail import Tail, open_tail
from hookgate.tools.shell.sandbox import Sandbox

# CPU seconds, open files, and bytes per file in blocks of 512. A limit that is lower already stays.
_LIMITS = "ulimit -t 60; ulimit -n 256; ulimit -f 131072; ulimit -c 0"
ADDRESS_SPACE, DATA = "ulimit -v 1048576", "ulimit -d 1048576"
"""1 GiB, in KiB: all that is mapped, or what is written to alone, where a runtime maps much and uses little."""
SYSTEM = tuple(
    Path(path)
    for path in (
        *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"),
        *("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime"),
        *("/etc/timezone", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/mime.types", "/etc/ssl/certs"),
    )
)
"""The machine's programs, and what they need to run: all that a made tool reads of the machine."""
_START = 'exec 2>"$0"; {{ {limits}; {memory}; }} 2>/dev/null; exec "$@"'


@dataclass(frozen=True)
class Cell:
    """`folder` is writable inside and where the program starts; `tail` is what its program says on stderr."""

    folder: Path
    environment: Mapping[str, str]
    tail: Tail
    sandbox: Sandbox

    async def command(self, argv: Sequence[str], memory: str = ADDRESS_SPACE) -> tuple[str, ...]:
        """The command that runs `argv` inside."""
        # Hidden folders are looked up, which blocks a little.
        walled = await trio.to_thread.run_sync(self.sandbox.wrap, argv)
        script = _START.format(limits=_LIMITS, memory=memory)
        return ("/bin/sh", "-c", script, str(self.folder.with_name("stderr")), *walled)


@asynccontextmanager
async def open_cell(sandbox: Sandbox, environment: Mapping[str, str], name: str) -> AsyncGenerator[Cell]:
    """`environment` gives PATH and LANG; HOME and TMPDIR are private and empty. Leaving removes the folder: what
    runs in it must have ended."""
    async with open_private_folder("hookgate-tool-") as base:
        folder = base / "cell"
        for path in (folder, folder / "home", folder / "tmp"):
            path.mkdir(mode=0o700)
        walls = replace(sandbox, workspace=folder, tmp=folder / "tmp", network=False, tcp_open=False)
        async with open_tail(base / "stderr", name) as tail:
            yield Cell(folder, _environment(environment, folder), tail, walls)


def _environment(given: Mapping[str, str], folder: Path) -> dict[str, str]:
    kept = {name: given[name] for name in ("PATH", "LANG") if name in given}
    return {**kept, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}


async def overfull(cell: Cell) -> str:
    """Why its private folder holds too much; empty where it does not."""
    return await trio.to_thread.run_sync(too_much, cell.folder)


def walls_note(sandbox: Sandbox) -> str:
    """For the person who approves: what the program can do, and what not."""
    match sandbox.kind:
        case "bwrap":
            return (
                "It runs without network, reads the workspace and the machine's programs alone, and can write "
                "nothing but a private folder (bwrap)."
            )
        case "landlock":
            return (
                "It reads the workspace and the machine's programs alone, can write nothing but a private folder and "
                "open no TCP connection; names of files can be listed, and UDP stays open (Landlock)."
            )
        case "none":
            return "There is no sandbox: its code has all rights of hookgate, network and files included."
