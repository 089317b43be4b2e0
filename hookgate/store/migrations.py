"""The tables, as the steps that lead from one version of the file to the next. A step is never changed."""

from __future__ import annotations

APPLICATION_ID = 0x686F6F6B
"""In the file's header: it is hookgate's."""

_CATALOG = (
    """
    CREATE TABLE tools (
        workspace TEXT NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('process', 'argv')),
        spec TEXT NOT NULL,
        source TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        origin TEXT NOT NULL CHECK (origin IN ('operator', 'model')),
        approved_by TEXT,
        approved_at REAL,
        enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
        updated_at REAL NOT NULL,
        PRIMARY KEY (workspace, name)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE mcp_servers (
        workspace TEXT NOT NULL,
        name TEXT NOT NULL,
        transport TEXT NOT NULL CHECK (transport IN ('stdio', 'http')),
        params TEXT NOT NULL,
        secret_ref TEXT,
        tool_hashes TEXT NOT NULL,
        origin TEXT NOT NULL CHECK (origin IN ('operator', 'model')),
        approved_by TEXT,
        approved_at REAL,
        enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
        updated_at REAL NOT NULL,
        PRIMARY KEY (workspace, name)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE tool_descriptions (
        name TEXT NOT NULL PRIMARY KEY,
        description TEXT NOT NULL,
        revision INTEGER NOT NULL,
        updated_at REAL NOT NULL,
        updated_by TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    # A revision of its own: that of the rows would fall when the newest row is deleted.
    "CREATE TABLE revisions (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO revisions VALUES ('tool_descriptions', 0)",
)

_GRANTS = ("ALTER TABLE tools ADD COLUMN granted TEXT",)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_CATALOG, _GRANTS)
"""The statements that make version 1, 2, ... out of the one before."""
