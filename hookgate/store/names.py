"""Names that stand in a SQLite file of hookgate's, for a shell in the middle of a line."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Literal

Of = Literal["conversations", "requests", "people", "keys", "tools", "servers"]

NAMES: dict[Of, str] = {
    "conversations": """
        SELECT session || '/' || agent || '/' || generation FROM conversations c
        WHERE last_at > 0 OR EXISTS (SELECT 1 FROM messages WHERE conversation = c.number AND outcome IS NULL)
    """,
    "requests": "SELECT id FROM requests WHERE state = 'open'",
    "people": "SELECT name FROM people",
    "keys": "SELECT name FROM keys",
    "tools": "SELECT name FROM tools",
    "servers": "SELECT name FROM mcp_servers",
}


def read_names(file: Path, of: Of) -> list[str]:
    """None where there is no file. Unlike any other look it leaves none of SQLite's own files behind, which it needs
    beside a writer alone, who has made them. Raises sqlite3.Error."""
    if not file.exists():
        return []
    alone = "" if Path(f"{file}-wal").exists() else "&immutable=1"
    with closing(connect(f"{file.absolute().as_uri()}?mode=ro{alone}", uri=True)) as connection:
        return [str(name) for (name,) in connection.execute(NAMES[of])]
