"""What this machine offers to tests: programs on PATH, walls of bubblewrap. `python -m tests.machine` installs the
programs where root may."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from shutil import which
from typing import Protocol

import pytest

PACKAGES = {
    "bwrap": "bubblewrap",
    "chromium": "chromium",
    "git": "git",
    "jq": "jq",
    "psql": "postgresql",
    "rg": "ripgrep",
}
"""Programs that hookgate or an example takes from PATH, and their packages. Go and Node come as wheels."""
APT = ("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300")
INSTALL_S = 900.0


class Without(Protocol):
    def __call__(self, *names: str) -> str:
        """From here on PATH, which is returned, has none of these programs, and all others that it had."""
        ...


def missing() -> list[str]:
    return [name for name in PACKAGES if which(name) is None]


def left_out() -> str:
    """What the tests go without and how to change that, in one line; empty where nothing is missing."""
    packages = " ".join(PACKAGES[name] for name in missing())
    if not packages:
        return ""
    names = ", ".join(missing())
    return f"without {names} on PATH: tests that need it are left out; to run them too: apt-get install {packages}"


def install(user: int) -> None:
    """From the system's packages, where this user may: root. Prints what is missing then."""
    if missing() and user == 0 and which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        packages = [PACKAGES[name] for name in missing()]
        for step in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
            subprocess.run(
                [*APT, *step],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                timeout=INSTALL_S,
            )
    if missing():
        print(left_out())


@cache
def no_walls() -> str:
    """Why bubblewrap, which is on PATH, can build no walls on this machine; empty where it can."""
    argv = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"]
    ended = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    return f"no walls on this machine: {ended.stderr.strip()}" if ended.returncode else ""


def with_and_without(*names: str) -> pytest.MarkDecorator:
    """The test runs on the machine as it is, and once more for each of these programs that it has, without it."""
    lacking = [(name,) for name in names if name not in missing()]
    ids = ["as it is", *(f"without {name}" for (name,) in lacking)]
    return pytest.mark.parametrize("machine", [(), *lacking], ids=ids, indirect=True)


def link_programs(folder: Path, path: str, names: frozenset[str]) -> None:
    """Into `folder` a link to every program on `path` that has none of these names; the first of a name counts."""
    for place in map(Path, path.split(os.pathsep)):
        for program in place.iterdir() if place.is_dir() else ():
            link = folder / program.name
            if program.name not in names and not link.is_symlink() and os.access(program, os.X_OK):
                link.symlink_to(program)


if __name__ == "__main__":
    install(os.geteuid())
