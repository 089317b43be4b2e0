"""One skill: a folder with a SKILL.md, read and checked. Knows neither where skills lie nor what a tool is."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Mapping
from pathlib import Path

from hookgate.extensions.manifest import name_mistake
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.skills.front_matter import BadHead, Entry, split
from hookgate.tools.errors import ToolError
from hookgate.tools.files.files import opened
from hookgate.tools.files.workspace import Workspace

FILE_NAME = "SKILL.md"
MAX_BYTES = 256 * 1024
MAX_HEAD_BYTES = 16 * 1024
"""All that is read of a skill which nobody has asked for."""
_HEAD_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?---")
_HEAD_ENDS = re.compile(rb"\n---[ \t\r]*\n")


class BadSkill(Exception):
    """The folder holds no usable skill; the text says why."""


@dataclass(frozen=True, slots=True)
class Skill:
    """`description` is never empty; `body` is, where only the head was read; `folder` is where SKILL.md lies, and
    what its text may refer to."""

    name: str
    description: str
    body: str
    folder: Path


def read_skill(folder: Path) -> Skill:
    """Raises BadSkill. A link at SKILL.md is followed inside the folder alone. Blocks."""
    data, _size = _beginning(folder, MAX_BYTES)
    return parse_skill(_text(data, whole=True), folder)


def read_head(folder: Path) -> Skill:
    """The same without its body, which is not read. Raises BadSkill. Blocks."""
    data, size = _beginning(folder, MAX_HEAD_BYTES)
    whole = size <= len(data)
    if not whole and _HEAD_BEGINS.match(data) and not _HEAD_ENDS.search(data):
        raise BadSkill(f"its head has more than {MAX_HEAD_BYTES} bytes")
    return replace(parse_skill(_text(data, whole=whole), folder), body="")


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


def _beginning(folder: Path, limit: int) -> tuple[bytes, int]:
    """At most `limit` bytes of its SKILL.md, and how many there are."""
    inside = Workspace(folder)
    try:
        with opened(inside, inside.place(FILE_NAME, "skill"), "skill") as file:
            data, size = file.read(limit), os.fstat(file.fileno()).st_size
    except ToolError as error:
        leads_out = error.denied_by == "rule:workspace"
        raise BadSkill(f"{FILE_NAME} is a link that leads out of the folder" if leads_out else str(error)) from None
    except OSError as error:
        raise BadSkill(f"{FILE_NAME} cannot be read: {error.strerror}") from None
    if size > MAX_BYTES:
        raise BadSkill(f"{FILE_NAME} has more than {MAX_BYTES} bytes")
    return data, size


def _text(data: bytes, *, whole: bool) -> str:
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data, final=whole)
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
