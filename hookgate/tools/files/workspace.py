"""Paths of tools, confined to one folder: `..`, absolute paths and symbolic links cannot lead out of it.

A path is resolved first and then walked folder by folder without following links, so a link that is put in
place between the two is refused, not followed. Reads and writes no file.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.errors import ToolError
from hookgate.tools.kept import Hide, Keep, nothing

OWN_NAMES = frozenset({".hookgate", ".zot", "hookgate.toml"})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class WorkspacePath:
    """A path inside the workspace: as the model wrote it, and its parts below the root with all links resolved."""

    shown: str
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """The last part; `.` for the root itself."""
        return self.parts[-1] if self.parts else "."


@dataclass(frozen=True, slots=True)
class Workspace:
    """`root` is resolved when the workspace is made; it must exist by the time it is used."""

    root: Path
    keep: Keep = nothing
    """What no tool may see or write here."""
    hide: Hide | None = None
    """What of `keep` no tool may see, where that is known without the rest."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", Path(os.path.realpath(self.root)))

    def refuse_kept(self, place: WorkspacePath, op: str) -> None:
        """Raises ToolError (permission) where the place is not for tools to write."""
        path, kept = self.root.joinpath(*place.parts), self.keep()
        # Whatever lies there the next start reads or runs, in whichever folder somebody starts it.
        if not OWN_NAMES.isdisjoint(place.parts):
            raise ToolError("permission", op, f"{place.shown} belongs to hookgate itself")
        if kept.covers(path):
            raise ToolError("permission", op, f"{place.shown} belongs to hookgate itself")
        if path in kept.told:
            why = "every later model is told what it says; a person can allow it with agent.context_files = false"
            raise ToolError("permission", op, f"{place.shown} is not for tools to write: {why}")

    def refuse_hidden(self, place: WorkspacePath, op: str) -> None:
        """Raises ToolError (permission) where the place is not for tools to see: before anything is opened there."""
        if lies_in(place.parts, self.hidden()):
            why = "belongs to hookgate itself, and is hidden from tools"
            raise ToolError("permission", op, f"{place.shown} {why}", denied_by="rule:workspace")

    def hidden(self) -> frozenset[tuple[str, ...]]:
        """Parts below the root of files, and of folders with all that is in them, that no tool may see; none at all
        stand for the root itself. Blocks a little."""
        paths = self.keep().hidden if self.hide is None else self.hide()
        inside = (path.relative_to(self.root).parts for path in paths if path.is_relative_to(self.root))
        return frozenset((*inside, *(() for path in paths if self.root.is_relative_to(path))))

    def place(self, path: str, op: str) -> WorkspacePath:
        """Where `path` leads, relative to the root or absolute inside it; it need not exist.

        Raises ToolError (permission) where it leads out, (validation) where it is no path at all. Blocks.
        """
        try:
            real = Path(os.path.realpath(self.root / path))
        except ValueError:
            raise ToolError("validation", op, f"{path!r} is not a path") from None
        if not real.is_relative_to(self.root):
            raise _outside(path, op)
        return WorkspacePath(path, real.relative_to(self.root).parts)

    @contextmanager
    def folder(self, place: WorkspacePath, op: str, *, create: bool = False) -> Generator[int]:
        """A descriptor of the folder that holds `place`, closed at the end. With `create`, missing ones are made."""
        with naming(place, op):
            descriptor = self._walk(place.parts[:-1], create)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _walk(self, parts: tuple[str, ...], create: bool) -> int:
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in parts:
            try:
                inner = _enter(descriptor, part, create)
            finally:
                os.close(descriptor)
            descriptor = inner
        return descriptor


def lies_in(parts: tuple[str, ...], places: frozenset[tuple[str, ...]]) -> bool:
    """Whether it is one of them, or in one."""
    return any(parts[:count] in places for count in range(len(parts) + 1))


def _enter(parent: int, name: str, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
    return os.open(name, _FOLDER, dir_fd=parent)


@contextmanager
def naming(place: WorkspacePath, op: str) -> Generator[None]:
    """Errors of the system name the path as the model wrote it; what it wrote wrong is its own fault."""
    try:
        yield
    except OSError as error:
        raise _named(error, place, op) from None


def _named(error: OSError, place: WorkspacePath, op: str) -> Exception:
    match error.errno:
        case errno.ELOOP:
            return _outside(place.shown, op)
        case errno.ENOTDIR:
            return ToolError("validation", op, f"{place.shown}: part of the path is not a directory")
        case errno.EISDIR:
            return ToolError("validation", op, f"{place.shown} is a directory")
        case errno.ENAMETOOLONG:
            return ToolError("validation", op, f"{place.shown[:80]}...: the name is too long")
        case _:
            return OSError(error.errno, error.strerror, place.shown)


def _outside(path: str, op: str) -> ToolError:
    return ToolError("permission", op, f"{path} is outside the workspace", denied_by="rule:workspace")


def which_outside(program: str, path: str, root: Path) -> str:
    """Where it is, or nothing. Not inside the workspace: what lies there the model may have written."""
    folders = [it for it in path.split(os.pathsep) if os.path.isabs(it)]
    outside = [it for it in folders if not Path(os.path.realpath(it)).is_relative_to(root)]
    found = shutil.which(program, path=os.pathsep.join(outside)) if outside else None
    return found if found and not Path(os.path.realpath(found)).is_relative_to(root) else ""
