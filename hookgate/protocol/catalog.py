"""The tool catalog: tools and MCP connections that outlive a run, what may be asked of it, and how it fails.

Rows only say what was kept. Whether a row may start again is decided by who starts it, in one of `RowState`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, Protocol

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import JsonObject

ToolKind = Literal["process", "argv"]
Transport = Literal["stdio", "http"]
RowOrigin = Literal["operator", "model"]
RowState = Literal["ok", "missing", "changed", "shadowed", "needs_approval", "disabled", "refused"]

EVERYWHERE = ""
"""The workspace of rows that count in all of them."""


@dataclass(frozen=True)
class ConnectionStatus:
    """An MCP connection, open or kept. `tools`: how many. `approved_by`: of kept ones; `waiting`: tools that nobody
    has approved; all after it are of open ones."""

    name: str
    state: str
    transport: str
    origin: str
    tools: int = 0
    approved_by: str | None = None
    waiting: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    last_error: str = ""
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One dynamic tool. `workspace` is the folder it belongs to, or EVERYWHERE.

    `source` is the path of its program, `sha256` the hex digest of what was approved (program and spec). Times are
    seconds since the epoch; `updated_at` is the store's, whatever is given. `approved_by` None: nobody has. `granted`
    is the digest that a person has allowed for always, whatever the row's is by now.
    """

    name: str
    kind: ToolKind
    spec: JsonObject
    source: str
    sha256: str
    origin: RowOrigin
    workspace: str = EVERYWHERE
    approved_by: str | None = None
    approved_at: float | None = None
    enabled: bool = True
    updated_at: float = 0.0
    granted: str | None = None

    @property
    def lasts(self) -> bool:
        """Whether it may start again without a question: it is the operator's, or allowed for always as it is."""
        return self.origin == "operator" or self.granted == self.sha256


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One MCP connection. `params` are its transport's, without secrets; `secret_ref` is `secret:NAME` or None.

    `tool_hashes` maps the server's own tool names to what was approved of each. The rest as in ToolRow.
    """

    name: str
    transport: Transport
    params: JsonObject
    origin: RowOrigin
    workspace: str = EVERYWHERE
    secret_ref: str | None = None
    tool_hashes: Mapping[str, str] = field(default_factory=dict[str, str])
    approved_by: str | None = None
    approved_at: float | None = None
    enabled: bool = True
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Description:
    """A text that stands instead of a tool's own description. `revision` is the store's at that change."""

    name: str
    text: str
    revision: int
    updated_at: float
    updated_by: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What a writer goes by: the row of that name, or none, as this workspace has it. A write that is given it raises
    StoreChanged where another process has put something else there since."""

    row: ToolRow | ServerRow | None
    workspace: str = EVERYWHERE


class Catalog(Protocol):
    """Reading is from memory and never waits. Writing returns once the row is safe on disk, or raises StoreFailed
    and has changed nothing; a cancellation is heard before a write or after it, never in between."""

    def tools(self, workspace: str = EVERYWHERE) -> tuple[ToolRow, ...]:
        """The rows of this workspace and those for all, by name; the workspace's own row hides the other."""
        ...

    def servers(self, workspace: str = EVERYWHERE) -> tuple[ServerRow, ...]:
        """As `tools`."""
        ...

    async def put_tool(self, row: ToolRow, seen: Seen | None = None) -> ToolRow:
        """Add the row, or replace the one of the same workspace and name; the row as it is kept."""
        ...

    async def remove_tool(self, name: str, workspace: str = EVERYWHERE, seen: Seen | None = None) -> bool:
        """Whether there was such a row, in exactly this workspace."""
        ...

    async def put_server(self, row: ServerRow, seen: Seen | None = None) -> ServerRow: ...

    async def remove_server(self, name: str, workspace: str = EVERYWHERE) -> bool: ...


class StoreFailed(Exception):
    """The store did not do what it was asked; the text is one line that names the file."""


class StoreBusy(StoreFailed):
    """Another process holds it, or the disk does not answer, for longer than a caller should wait."""


class StoreChanged(StoreFailed):
    """The row is not the one that the writer has seen; what memory holds is what stands there now."""


class StoreFull(StoreFailed):
    """There is no room for what should be written."""


class StoreCorrupt(StoreFailed):
    """It is no database, not ours, or damaged. The file is left as it is."""


class StoreTooNew(StoreFailed):
    """A newer hookgate has written it."""


class StoreReadOnly(StoreFailed):
    """The file or its folder cannot be written."""
