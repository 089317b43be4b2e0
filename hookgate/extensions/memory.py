"""What one run learns of an extension for the next: what it intercepts, and which variables people were told about.

A file for each folder. What cannot be read is not known; asks nobody and starts nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from hookgate.extensions.whole import write_whole
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage

MAX_KEPT_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Learnt:
    """`intercepts`: when it was last up. `sources`: a digest of its code as it was last looked through. It mentions
    these `variables`; `told` marks those that people were told of, each in a project."""

    intercepts: frozenset[str] = frozenset()
    sources: str = ""
    variables: frozenset[str] = frozenset()
    told: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Memory:
    """`folder` need not exist."""

    folder: Path
    _known: dict[Path, Learnt] = field(default_factory=dict[Path, Learnt])

    def of(self, directory: Path) -> Learnt:
        """What is known of the extension in this folder."""
        if directory not in self._known:
            self._known[directory] = self._read(directory)
        return self._known[directory]

    def keep(self, directory: Path, learnt: Learnt) -> None:
        """Raises OSError where it cannot be kept; for this object it counts all the same."""
        if self.of(directory) == learnt:
            return
        self._known[directory] = learnt
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lists = {name: sorted(getattr(learnt, name)) for name in ("intercepts", "variables", "told")}
        write_whole(self._file(directory), encode({**lists, "sources": learnt.sources}) + b"\n", 0o600)

    def _read(self, directory: Path) -> Learnt:
        try:
            with self._file(directory).open("rb") as file:
                kept = decode(file.read(MAX_KEPT_BYTES))
        except (OSError, BadMessage):
            return Learnt()
        members = cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}
        intercepts, variables, told = (_texts(members.get(name)) for name in ("intercepts", "variables", "told"))
        return Learnt(intercepts, str(members.get("sources", "")), variables, told)

    def _file(self, directory: Path) -> Path:
        """One folder has one name, whatever links lead to it."""
        return self.folder / f"{sha256(os.fsencode(os.path.realpath(directory))).hexdigest()}.json"


def _texts(value: object) -> frozenset[str]:
    items = cast("Iterable[object]", value) if isinstance(value, list) else ()
    return frozenset(it for it in items if isinstance(it, str))
