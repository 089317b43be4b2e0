"""Extensions for the tests: folders with manifests, and git repositories that hold one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from hookgate.extensions.discovery import Places
from hookgate.extensions.git import Git

PATH = os.environ["PATH"]


def places(folder: Path) -> Places:
    return Places(folder / "project", folder / "own", folder / "zot")


def extension(directory: Path, name: str = "", **members: Any) -> Path:
    """A folder with a manifest that names it; `members` come on top."""
    directory.mkdir(parents=True, exist_ok=True)
    manifest = {"name": name or directory.name, "exec": "./run", **members}
    (directory / "extension.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return directory


def git(folder: Path, timeout_s: float = 60.0, **environment: str) -> Git:
    """git as somebody at home in this folder runs it."""
    return Git({"PATH": PATH, "HOME": str(folder), **environment}, timeout_s)


def repository(source: Path, bare: Path) -> Path:
    """A bare repository with all that is in the source, in one commit."""
    environment = {
        **{"PATH": PATH, "HOME": str(bare.parent), "GIT_CONFIG_NOSYSTEM": "1"},
        **{f"GIT_{who}_{what}": "ann@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    work = bare.with_name(f"{bare.name}.work")
    for command in (
        ["init", "--quiet", f"--separate-git-dir={work}", str(source)],
        ["-C", str(source), "add", "--all"],
        ["-C", str(source), "commit", "--quiet", "--message=first"],
        ["clone", "--quiet", "--bare", str(source), str(bare)],
    ):
        subprocess.run(["git", *command], env=environment, check=True, timeout=30, stdin=subprocess.DEVNULL)
    return bare
