"""What outlives a hookgate of what it knows of changed files: one file a running or ended process. Judges nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage

_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class KnownDigests:
    """`digests` are the last ones that are known to be good, by path; empty: it was not there. `roots`: files and
    folders of which they are all that there was."""

    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    roots: tuple[str, ...] = ()


@dataclass(frozen=True)
class SealFile:
    path: Path

    def read(self) -> KnownDigests:
        """Nothing where there is no such file, or none that can be read. Blocks."""
        try:
            with self.path.open("rb") as file:
                kept = decode(file.read(_MAX_BYTES))
        except (OSError, BadMessage):
            return KnownDigests()
        members = cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}
        digests, roots = members.get("digests"), members.get("roots")
        if not isinstance(digests, dict) or not isinstance(roots, list):
            return KnownDigests()
        texts = {str(path): str(digest) for path, digest in cast("dict[object, object]", digests).items()}
        return KnownDigests(texts, tuple(str(root) for root in cast("list[object]", roots)))

    def write(self, known: KnownDigests) -> None:
        """Whole or not at all; where nothing is known the file goes. Raises OSError. Not synced: each command of a
        tool waits for this, and what must be survived is the end of the process."""
        if known == KnownDigests():
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = self.path.with_name(f".{token_hex(6)}")
        try:
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(encode({"digests": dict(known.digests), "roots": list(known.roots)}))
            aside.replace(self.path)
        finally:
            with suppress(FileNotFoundError):
                aside.unlink()

    @property
    def alive(self) -> bool:
        """Whether the hookgate that it belongs to still runs."""
        return Path("/proc", self.path.name.partition("-")[0]).exists()


def own_file(folder: Path) -> SealFile:
    """A new one of this process."""
    return SealFile(folder / f"{os.getpid()}-{token_hex(4)}.json")


def all_files(folder: Path) -> Iterator[SealFile]:
    yield from (SealFile(path) for path in sorted(folder.glob("*-*.json")))
