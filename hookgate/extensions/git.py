"""`git clone` without questions, hooks or a shell. Does not know what is in a repository."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hookgate.extensions.folders import InstallRefused
from hookgate.processes.group import signal_group
from hookgate.protocol.dataclasses import dataclass

TIMEOUT_S = 300.0
PREFIXES = ("https://", "git@", "ssh://", "file://")
SUFFIX = ".git"
MOST_SAID_BYTES = 4096

# Variables by which a surrounding git command (a hook, say) would turn the clone to its own repository.
_OF_A_REPOSITORY = frozenset(
    {
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"),
        *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_TEMPLATE_DIR", "GIT_SHALLOW_FILE"),
    }
)
_ALWAYS = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh", "LC_ALL": "C"}
# A user's own `core.hooksPath` may be relative, and would then name files of the repository.
_NO_HOOKS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false")


@dataclass(frozen=True, slots=True)
class Git:
    """How git is run: the environment that it starts from, and how long a clone may take."""

    environment: Mapping[str, str]
    timeout_s: float = TIMEOUT_S


def is_url(source: str) -> bool:
    """Whether it is git's to fetch; everything else is a path."""
    return source.startswith(PREFIXES) or source.endswith(SUFFIX)


def clone_name(url: str) -> str:
    """The last part of it, without `.git`; it may be empty, or no name for a folder at all."""
    return url.rstrip("/").replace(":", "/").rsplit("/", 1)[-1].removesuffix(SUFFIX)


def clone(url: str, destination: Path, git: Git) -> None:
    """The newest state alone, into a folder that is not there. Raises InstallRefused; what was begun may be left."""
    if url.startswith("-"):
        raise InstallRefused(f"git clone: {url!r} is an option, not a URL")
    if "\0" in url:
        raise InstallRefused("git clone: the URL holds a null character")
    command = ["git", *_NO_HOOKS, "clone", "--quiet", "--template=", "--depth", "1", "--", url, str(destination)]
    # No pipe: an ssh that stays for later connections would hold it open.
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                command,
                env=_environment(git.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                # What git starts (ssh, git-remote-https) ends with it, and finds no terminal to ask on.
                start_new_session=True,
            )
        except FileNotFoundError:
            raise InstallRefused("git clone: git is not installed") from None
        status = _ended(process, git.timeout_s)
        if status is None:
            raise InstallRefused(f"git clone: not done after {git.timeout_s:g} s")
        said.seek(0)
        if status:
            raise InstallRefused(f"git clone: {_reason(said.read(MOST_SAID_BYTES), status)}")


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in given.items() if name not in _OF_A_REPOSITORY}
    return {**kept, **_ALWAYS}


def _ended(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    """Its exit status; None: it took too long. It does not run any more, whatever happens."""
    with process:
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                signal_group(process, signal.SIGKILL)


def _reason(said: bytes, status: int) -> str:
    """Up to git's own last word; what follows `fatal: ` is advice."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    last = next((place for place, line in enumerate(lines) if line.startswith("fatal: ")), len(lines))
    return "; ".join(lines[: last + 1]) or f"exit status {status}"
