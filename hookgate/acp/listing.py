"""Which sessions can be loaded: those in which something was said."""

from __future__ import annotations

from pathlib import Path

from hookgate.acp.channel import NAME
from hookgate.assembly.journals import conversation_files, kept_conversation
from hookgate.protocol.acp.answers import Listed
from hookgate.protocol.codec import rfc3339
from hookgate.sections import Config

TITLE_CHARS = 80
PAGE = 50


def titled(text: str) -> str:
    """How a session is called: as its first message begins."""
    return text.strip().partition("\n")[0][:TITLE_CHARS]


def kept_sessions(config: Config, folder: str | None, since: int) -> tuple[list[Listed], int]:
    """A page of them, the last used first, and where the next one begins; 0: nowhere. `folder`: of this one alone.
    Blocks."""
    folder = str(Path(folder).resolve()) if folder is not None else None
    found, files = list[Listed](), conversation_files(config, NAME)
    for number, file in enumerate(files[since:], since + 1):
        it = kept_conversation(file, NAME)
        if it is not None and it.title and folder in (None, it.workspace):
            found.append(Listed(it.name, it.workspace, titled(it.title), rfc3339(it.said)))
        if len(found) == PAGE:
            return found, number if number < len(files) else 0
    return found, 0
