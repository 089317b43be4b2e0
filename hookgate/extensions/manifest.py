"""`extension.json` as a frozen value. Knows neither where extensions are looked for nor how they are started."""

from __future__ import annotations

import os
import stat
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hookgate.protocol.codec import decode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.kinds import kind_of

FILE_NAME = "extension.json"
MAX_BYTES = 1024 * 1024
LONGEST_NAME = 200
"""Bytes: the name becomes the largest part of a log file's, and those end at 255."""


class BadManifest(Exception):
    """The manifest cannot be used; the text begins with `read manifest: `, `parse manifest: ` or `manifest: `."""


class NoManifest(BadManifest):
    """There is no file of that name."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """`exec` and `args` as they are written; `enabled` is true where the file does not say. `exec` is empty where it
    only brings `skills`: folders of them, relative to its own. `intercept`: what it will subscribe to, so that it is
    known for a guard before it has ever been up."""

    name: str
    exec: str
    version: str = ""
    args: tuple[str, ...] = ()
    language: str = ""
    enabled: bool = True
    description: str = ""
    skills: tuple[str, ...] = ()
    intercept: tuple[str, ...] = ()

    def command(self, directory: Path) -> tuple[str, ...]:
        """What is started for an extension in this absolute directory, empty for nothing: a bare `exec` comes from
        PATH."""
        if not self.exec:
            return ()
        # Joining leaves an absolute path as it is.
        program = str(directory / self.exec) if os.sep in self.exec else self.exec
        return (program, *self.args)


def read_manifest(directory: Path) -> Manifest:
    """Raises BadManifest; NoManifest where there is no such file."""
    return parse_manifest(read_bytes(directory / FILE_NAME))


def read_bytes(file: Path) -> bytes:
    """The file as it stands. Raises BadManifest, also for what is no file: a pipe would never end."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise NoManifest(f"read manifest: {file}: {error.strerror}") from None
    except OSError as error:
        raise BadManifest(f"read manifest: {file}: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadManifest(f"read manifest: {file}: not a file")
    with open(descriptor, "rb") as opened:
        try:
            data = opened.read(MAX_BYTES + 1)
        except OSError as error:
            raise BadManifest(f"read manifest: {file}: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise BadManifest(f"read manifest: {file}: over {MAX_BYTES} bytes")
    return data


def parse_manifest(data: bytes) -> Manifest:
    """Unknown members mean nothing. Raises BadManifest."""
    try:
        members = decode(data)
    except BadMessage as error:
        raise BadManifest(f"parse manifest: {error}") from None
    if not isinstance(members, dict):
        raise BadManifest(f"parse manifest: it must be an object, not {kind_of(members)}")
    return _manifest(cast("dict[str, Any]", members))


def name_mistake(name: str) -> str | None:
    """Why an extension or its folder may not be called so: names become parts of paths. None: it may."""
    if any(char in "/\\" or unicodedata.category(char) in _UNSEEN for char in name):
        return "must not hold a slash, a backslash or a control character"
    if name.startswith("."):
        return "must not begin with a dot"
    try:
        length = len(os.fsencode(name))
    except UnicodeEncodeError:
        return f"has characters that no file's name can have under this locale ({sys.getfilesystemencoding()})"
    return f"must not be longer than {LONGEST_NAME} bytes" if length > LONGEST_NAME else None


# Control, format and separator characters, and half of a surrogate pair.
_UNSEEN = ("Cc", "Cf", "Zl", "Zp", "Cs")


def _manifest(members: Mapping[str, Any]) -> Manifest:
    name = _text(members, "name")
    if not name.strip():
        raise BadManifest("manifest: name is required")
    mistake = name_mistake(name)
    if mistake is not None:
        raise BadManifest(f"manifest: name {name[:80]!r} {mistake}")
    program, skills = _text(members, "exec"), _own_texts(members, "skills")
    if not (program.strip() or skills):
        raise BadManifest("manifest: exec is required")
    return Manifest(
        name=name,
        exec=program if program.strip() else "",
        version=_text(members, "version"),
        args=_texts(members, "args"),
        language=_text(members, "language"),
        enabled=_flag(members, "enabled"),
        description=_text(members, "description"),
        skills=skills,
        intercept=_own_texts(members, "intercept"),
    )


def _own_texts(members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """What is no text is passed over: to zot the member means nothing, and nobody's program should fail by it."""
    value = members.get(name)
    texts = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(it for it in texts if isinstance(it, str) and it and "\0" not in it)


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    return "" if value is None else _plain(value, name)


def _texts(members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = members.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadManifest(f"parse manifest: {name} must be an array, not {kind_of(value)}")
    return tuple(_plain(item, f"{name}[{i}]") for i, item in enumerate(cast("list[object]", value)))


def _plain(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise BadManifest(f"parse manifest: {where} must be a string, not {kind_of(value)}")
    # No argument of a process can hold one.
    if "\0" in value:
        raise BadManifest(f"parse manifest: {where} must not hold a null character")
    return value


def _flag(members: Mapping[str, Any], name: str) -> bool:
    value = members.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadManifest(f"parse manifest: {name} must be true or false, not {kind_of(value)}")
    return value is not False
