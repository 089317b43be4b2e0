"""Rows of the tables as values, and values as rows. Opens and commits nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, cast

from hookgate.protocol.catalog import Description, ServerRow, StoreCorrupt, ToolRow
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import JsonObject

if TYPE_CHECKING:
    from sqlite3 import Connection

Key = tuple[str, str]
"""Workspace and name."""

_TOOLS = "workspace, name, kind, spec, source, sha256, origin, approved_by, approved_at, enabled, updated_at, granted"
_SERVERS = (
    "workspace, name, transport, params, secret_ref, tool_hashes, origin, approved_by, approved_at, enabled, "
    "updated_at"
)
_DESCRIPTIONS = "name, description, revision, updated_at, updated_by"


@dataclass(frozen=True, slots=True)
class Contents:
    """All that the catalog's tables hold at one moment."""

    tools: Mapping[Key, ToolRow] = field(default_factory=dict[Key, ToolRow])
    servers: Mapping[Key, ServerRow] = field(default_factory=dict[Key, ServerRow])
    descriptions: Mapping[str, Description] = field(default_factory=dict[str, Description])
    revision: int = 0


def read_contents(connection: Connection) -> Contents:
    """Within one transaction of the caller's. Raises StoreCorrupt, without the file's name."""
    tools = [_tool(*row) for row in connection.execute(f"SELECT {_TOOLS} FROM tools")]  # noqa: S608
    servers = [_server(*row) for row in connection.execute(f"SELECT {_SERVERS} FROM mcp_servers")]  # noqa: S608
    texts = [Description(*row) for row in connection.execute(f"SELECT {_DESCRIPTIONS} FROM tool_descriptions")]  # noqa: S608
    return Contents(
        {(row.workspace, row.name): row for row in tools},
        {(row.workspace, row.name): row for row in servers},
        {row.name: row for row in texts},
        read_revision(connection),
    )


def _tool(workspace: str, name: str, kind: Any, spec: str, *rest: Any) -> ToolRow:  # noqa: ANN401 - the table checks
    source, sha256, origin, approved_by, approved_at, enabled, updated_at, granted = rest
    return ToolRow(
        workspace=workspace,
        name=name,
        kind=kind,
        spec=_object(spec, f"tools/{name}.spec"),
        source=source,
        sha256=sha256,
        origin=origin,
        approved_by=approved_by,
        approved_at=approved_at,
        enabled=bool(enabled),
        updated_at=updated_at,
        granted=granted,
    )


def _server(workspace: str, name: str, transport: Any, params: str, *rest: Any) -> ServerRow:  # noqa: ANN401
    secret_ref, tool_hashes, origin, approved_by, approved_at, enabled, updated_at = rest
    return ServerRow(
        workspace=workspace,
        name=name,
        transport=transport,
        params=_object(params, f"mcp_servers/{name}.params"),
        secret_ref=secret_ref,
        tool_hashes=cast("dict[str, str]", _object(tool_hashes, f"mcp_servers/{name}.tool_hashes")),
        origin=origin,
        approved_by=approved_by,
        approved_at=approved_at,
        enabled=bool(enabled),
        updated_at=updated_at,
    )


def _object(text: str, where: str) -> JsonObject:
    try:
        value: object = decode(text)
    except BadMessage as error:
        raise StoreCorrupt(f"{where} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise StoreCorrupt(f"{where} is no JSON object")
    return cast("JsonObject", value)


# --- writing ------------------------------------------------------------------------------------------------


def write_tool(connection: Connection, row: ToolRow) -> None:
    spec = encode(row.spec).decode()
    first = (row.workspace, row.name, row.kind, spec, row.source, row.sha256, row.origin)
    values = (*first, row.approved_by, row.approved_at, row.enabled, row.updated_at, row.granted)
    connection.execute(_upsert("tools", _TOOLS, 2), values)


def write_server(connection: Connection, row: ServerRow) -> None:
    params, hashes = encode(row.params).decode(), encode(row.tool_hashes).decode()
    first = (row.workspace, row.name, row.transport, params, row.secret_ref, hashes, row.origin)
    values = (*first, row.approved_by, row.approved_at, row.enabled, row.updated_at)
    connection.execute(_upsert("mcp_servers", _SERVERS, 2), values)


def write_description(connection: Connection, row: Description) -> None:
    values = (row.name, row.text, row.revision, row.updated_at, row.updated_by)
    connection.execute(_upsert("tool_descriptions", _DESCRIPTIONS, 1), values)


def remove_row(connection: Connection, table: str, key: Key) -> bool:
    sql = f"DELETE FROM {table} WHERE workspace = ? AND name = ?"  # noqa: S608 - the table is a constant of ours
    return connection.execute(sql, key).rowcount > 0


def remove_description(connection: Connection, name: str) -> None:
    connection.execute("DELETE FROM tool_descriptions WHERE name = ?", (name,))


def read_revision(connection: Connection) -> int:
    """Raises StoreCorrupt."""
    match connection.execute("SELECT value FROM revisions WHERE name = 'tool_descriptions'").fetchall():
        case [(int(value),)]:
            return value
        case _:
            raise StoreCorrupt("revisions holds no revision of tool_descriptions")


def raise_revision(connection: Connection) -> int:
    """The new one."""
    connection.execute("UPDATE revisions SET value = value + 1 WHERE name = 'tool_descriptions'")
    return read_revision(connection)


def _upsert(table: str, columns: str, keys: int) -> str:
    """The first `keys` columns are the primary key."""
    names = columns.split(", ")
    marks = ", ".join("?" * len(names))
    changed = ", ".join(f"{name} = excluded.{name}" for name in names[keys:])
    key = ", ".join(names[:keys])
    return f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT ({key}) DO UPDATE SET {changed}"  # noqa: S608
