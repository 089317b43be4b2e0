"""Which journal a command is about. Imports little: the commands' words and options need it."""

from __future__ import annotations

from pathlib import Path

from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True)
class JournalChoice:
    """The gateway's of this configuration, or that of a conversation that is kept by name."""

    config_file: Path | None
    session: str = ""
