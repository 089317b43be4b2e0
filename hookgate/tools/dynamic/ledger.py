"""What is known of kept tools: their files, their rows in the catalog, their place in the registry, in step.

A change is made in all of them or in none. Starts no process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import structlog
import trio

from hookgate.protocol.catalog import EVERYWHERE, Catalog, Seen, StoreBusy, StoreChanged, StoreFailed, ToolRow
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.interfaces import Tool
from hookgate.tools.dynamic.argv import approved, find
from hookgate.tools.dynamic.draft import invalid
from hookgate.tools.dynamic.identity import PROVIDER, digest
from hookgate.tools.dynamic.shelf import Shelf
from hookgate.tools.errors import BadSpec, NameConflict, ToolError
from hookgate.tools.failures import close_names
from hookgate.tools.registry import Registry

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Ledger:
    """`workspace`: whose rows count besides those for all, and whose new ones are."""

    catalog: Catalog
    registry: Registry
    shelf: Shelf
    workspace: str = EVERYWHERE

    @property
    def rows(self) -> tuple[ToolRow, ...]:
        return self.catalog.tools(self.workspace)

    @property
    def names(self) -> set[str]:
        return {row.name for row in self.rows}

    def row(self, name: str) -> ToolRow | None:
        return next((row for row in self.rows if row.name == name), None)

    def known(self, name: str, op: str) -> ToolRow:
        """Raises ToolError (not_found) with names that look alike."""
        row = self.row(name)
        if row is None:
            close = close_names(name, self.names)
            hint = f"; there is {', '.join(close)}" if close else ""
            reason = f"no tool named {name[:100]!r} was added at run time in this workspace{hint}"
            raise ToolError("not_found", op, reason)
        return row

    def holder(self, name: str) -> str:
        """Who else has the name, or nobody."""
        tool = self.registry.snapshot().get(name)
        return tool.spec.provider if tool is not None and tool.spec.provider != PROVIDER else ""

    async def digest(self, row: ToolRow, argv_roots: Sequence[Path]) -> str | None:
        """Of what lies at its place now; None where nothing does."""
        if row.kind == "process":
            text = await self.shelf.text(Path(row.source))
            return None if text is None else digest(text, row.spec)
        try:
            return approved(await find(Path(row.source), argv_roots), row.spec)
        except (ToolError, OSError):
            return None

    async def keep(self, row: ToolRow, tool: Tool, old: ToolRow | None, text: str | None = None) -> None:
        """File, catalog, registry, in this order; what fails takes back what came before it. Raises ToolError.

        `old` is the row that was there when this was decided: another by now is `stale`. Without `text` the file
        stays as it is. A row for all workspaces takes the place of this workspace's own. Not cancelled halfway: the
        catalog has its own deadline.
        """
        with trio.CancelScope(shield=True):
            written = False
            before = await self.shelf.text(self.shelf.path(row.name)) if text is not None else None
            try:
                if text is not None:
                    await self.shelf.put(row.name, text)
                await self.catalog.put_tool(row, Seen(old, self.workspace))
                written = True
                if old is not None and old.workspace != row.workspace == EVERYWHERE:
                    await self.catalog.remove_tool(old.name, old.workspace)
                self.registry.register(tool)
            except (OSError, StoreFailed, NameConflict, BadSpec) as error:
                # What was not written is another's.
                if written:
                    await self._take_back(row, old)
                if text is not None:
                    await self._put_back(row.name, before)
                raise unkept(error) from None

    async def _take_back(self, row: ToolRow, old: ToolRow | None) -> None:
        try:
            if old is None or old.workspace != row.workspace:
                await self.catalog.remove_tool(row.name, row.workspace)
            if old is not None and self.row(row.name) != old:
                await self.catalog.put_tool(old)
        except StoreFailed as error:
            _log.error("tool_row_not_taken_back", tool=row.name, reason=str(error))

    async def _put_back(self, name: str, before: str | None) -> None:
        try:
            await self.shelf.put(name, before)
        except OSError as error:
            _log.error("tool_file_not_put_back", tool=name, reason=str(error))

    async def drop(self, row: ToolRow) -> None:
        """Out of catalog and registry; the file stays. Raises ToolError and has changed nothing."""
        with trio.CancelScope(shield=True):
            try:
                await self.catalog.remove_tool(row.name, row.workspace, Seen(row, self.workspace))
            except StoreFailed as error:
                raise unkept(error) from None
            self.registry.unregister(row.name, PROVIDER)


def unkept(error: Exception) -> ToolError:
    match error:
        case NameConflict() | BadSpec():
            return invalid(str(error))
        case StoreChanged():
            return ToolError("stale", "catalog", f"nothing was changed: {error}")
        case StoreBusy():
            return ToolError("transient", "catalog", f"nothing was changed: {error}")
        case _:
            return ToolError("fatal", "catalog", f"nothing was changed: {error}")
