"""What a person has recorded, read for a command: a file that cannot be read is a mistake of theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hookgate.config import ConfigError
from hookgate.rehearsal.recording import Broken, Recorded, read_recording


def recorded_in(file: Path) -> Iterator[Recorded | Broken]:
    """Raises ConfigError."""
    try:
        yield from read_recording(file)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None


def calls_in(file: Path) -> Counter[str]:
    """How often each hook was asked. Raises ConfigError."""
    return Counter(line.hook for line in recorded_in(file) if isinstance(line, Recorded))
