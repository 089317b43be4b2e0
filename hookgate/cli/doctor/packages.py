"""What to type for a program that is missing: the line of this system's own package manager."""

from __future__ import annotations

import os
from collections.abc import Mapping
from shutil import which

from hookgate import config as configuration

_INSTALL = {
    "apt-get": "apt-get install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "zypper": "zypper install",
    "apk": "apk add",
    "brew": "brew install",
}
_PACKAGES: Mapping[str, Mapping[str, str]] = {
    "bwrap": {"": "bubblewrap"},
    "rg": {"": "ripgrep"},
    "git": {"": "git"},
    "node": {"": "nodejs", "brew": "node"},
    "go": {"": "go", "apt-get": "golang-go", "dnf": "golang"},
}
"""What a program's package is called, by program and manager; under "" with most."""


def found(program: str) -> str | None:
    """Its path, on the PATH that hooks and tools get."""
    return which(program, path=configuration.base_environment().get("PATH"))


def is_known(program: str) -> bool:
    return program in _PACKAGES


def install(program: str) -> str:
    """A line for a shell; where no manager is known, a sentence. Raises KeyError where the program is not known."""
    names = _PACKAGES[program]
    for manager, line in _INSTALL.items():
        if found(manager):
            rights = "" if os.geteuid() == 0 or manager == "brew" else "sudo "
            return f"{rights}{line} {names.get(manager, names[''])}"
    return f"install {names['']} and put it on PATH"
