"""Which sessions can be loaded: those in which something was said."""

from __future__ import annotations

from datetime import UTC, datetime

from hookgate.acp.channel import NAME
from hookgate.assembly.journals import kept_conversations
from hookgate.protocol.acp.answers import Listed
from hookgate.sections import Config

TITLE_CHARS = 80


def titled(text: str) -> str:
    """How a session is called: as its first message begins."""
    return text.strip().partition("\n")[0][:TITLE_CHARS]


def kept_sessions(config: Config, folder: str | None) -> list[Listed]:
    """The last used first; `folder`: of this one alone. Blocks."""
    return [
        Listed(it.name, it.workspace, titled(it.title), _moment(it.written))
        for it in kept_conversations(config, NAME)
        if it.title and folder in (None, it.workspace)
    ]


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
