"""One skill: a folder with a SKILL.md, read and checked. Knows neither where skills lie nor what a tool is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hookgate.extensions.manifest import name_mistake
from hookgate.skills.front_matter import BadHead, Entry, split
from hookgate.tools.errors import ToolError
from hookgate.tools.files import opened
from hookgate.tools.workspace import Workspace

FILE_NAME = "SKILL.md"
MAX_BYTES = 256 * 1024


class BadSkill(Exception):
    """The folder holds no usable skill; the text says why."""


@dataclass(frozen=True, slots=True)
class Skill:
    """`description` is never empty; `folder` is where SKILL.md lies, and what its text may refer to."""

    name: str
    description: str
    body: str
    folder: Path


def read_skill(folder: Path) -> Skill:
    """Raises BadSkill. A link at SKILL.md is followed inside the folder alone. Blocks."""
    return parse_skill(_text(folder), folder)


def parse_skill(text: str, folder: Path) -> Skill:
    """Keys but `name` and `description` mean nothing; without a name it is the folder's. Raises BadSkill."""
    try:
        entries, body = split(text)
        name = _value(entries, "name") or folder.name
        description = _value(entries, "description")
    except BadHead as error:
        raise BadSkill(str(error)) from None
    mistake = name_mistake(name)
    if mistake is not None:
        raise BadSkill(f"name {name[:80]!r} {mistake}")
    if not description:
        raise BadSkill("description is required")
    return Skill(name, description, body.lstrip("\n").rstrip(), folder)


def _value(entries: Mapping[str, Entry], key: str) -> str:
    return entries[key].text().strip() if key in entries else ""


def _text(folder: Path) -> str:
    inside = Workspace(folder)
    try:
        with opened(inside, inside.place(FILE_NAME, "skill"), "skill") as file:
            data = file.read(MAX_BYTES + 1)
    except ToolError as error:
        leads_out = error.denied_by == "rule:workspace"
        raise BadSkill(f"{FILE_NAME} is a link that leads out of the folder" if leads_out else str(error)) from None
    except OSError as error:
        raise BadSkill(f"{FILE_NAME} cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise BadSkill(f"{FILE_NAME} has more than {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadSkill(f"{FILE_NAME} is not UTF-8") from None


def beside(skill: Skill) -> tuple[str, ...]:
    """The other names in its folder, sorted, folders with a slash; none where it cannot be listed. Blocks."""
    try:
        with os.scandir(skill.folder) as entries:
            found = [f"{it.name}/" if it.is_dir() else it.name for it in entries if it.name != FILE_NAME]
    except OSError:
        return ()
    return tuple(sorted(name for name in found if not name.startswith(".") and name.isprintable()))
