"""What is in one folder of the workspace: names, kinds and sizes, sorted. Follows no link; knows no tool."""

from __future__ import annotations

import os

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.errors import ToolError
from hookgate.tools.files.workspace import Workspace, WorkspacePath, naming
from hookgate.tools.search.query import Kind
from hookgate.tools.search.walk import kind_of, shown


@dataclass(frozen=True, slots=True)
class Listed:
    """`name` is in one line of valid text. `size` in bytes, of files alone; `folder`: it is one, or leads to one."""

    name: str
    type: Kind
    size: int | None
    folder: bool


def listing(workspace: Workspace, place: WorkspacePath, *, hidden: bool) -> tuple[Listed, ...]:
    """Raises ToolError (validation) where the place is no folder, OSError that names it. Blocks."""
    workspace.refuse_hidden(place, "ls")
    withheld = workspace.hidden()
    with workspace.folder(place, "ls") as parent, naming(place, "ls"):
        descriptor = _open(parent, place)
        try:
            with os.scandir(descriptor) as entries:
                seen = (entry for entry in entries if hidden or not entry.name.startswith("."))
                found = [_listed(entry) for entry in seen if (*place.parts, entry.name) not in withheld]
        finally:
            os.close(descriptor)
    return tuple(sorted(found, key=lambda it: f"{it.name}/" if it.folder else it.name))


def _open(parent: int, place: WorkspacePath) -> int:
    try:
        return os.open(place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except NotADirectoryError:
        raise ToolError("validation", "ls", f"{place.shown} is not a directory") from None


def _listed(entry: os.DirEntry[str]) -> Listed:
    kind = kind_of(entry)
    return Listed(shown(entry.name), kind, _size(entry) if kind == "file" else None, _leads_to_folder(entry))


def _size(entry: os.DirEntry[str]) -> int | None:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return None


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    # A link in a loop raises, where one that leads nowhere is only no folder.
    try:
        return entry.is_dir()
    except OSError:
        return False
