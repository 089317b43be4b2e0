"""The catalog of a gateway whose store cannot be used: nothing to read, and every write says why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import trio

from hookgate.protocol.catalog import EVERYWHERE, Description, Seen, ServerRow, StoreFailed, ToolRow
from hookgate.store.rows import Contents


class Without:
    """Stands where a Store should. `problem` is the line that a person is told."""

    def __init__(self, error: StoreFailed) -> None:
        self._error = error
        self.contents = Contents()
        self.revision = 0

    @property
    def problem(self) -> str:
        return str(self._error)

    def tools(self, workspace: str = EVERYWHERE) -> tuple[ToolRow, ...]:
        return ()

    def servers(self, workspace: str = EVERYWHERE) -> tuple[ServerRow, ...]:
        return ()

    @property
    def descriptions(self) -> Mapping[str, Description]:
        return {}

    async def put_tool(self, row: ToolRow, seen: Seen | None = None) -> ToolRow:
        await self._refuse()

    async def remove_tool(self, name: str, workspace: str = EVERYWHERE, seen: Seen | None = None) -> bool:
        await self._refuse()

    async def put_server(self, row: ServerRow, seen: Seen | None = None) -> ServerRow:
        await self._refuse()

    async def remove_server(self, name: str, workspace: str = EVERYWHERE) -> bool:
        await self._refuse()

    async def change_descriptions(self, texts: Mapping[str, str | None], by: str) -> int:
        await self._refuse()

    async def replace_descriptions(self, texts: Mapping[str, str], by: str) -> int:
        await self._refuse()

    async def refresh(self) -> None:
        """There is nothing to read, which is what memory says."""
        await trio.lowlevel.checkpoint()

    async def _refuse(self) -> NoReturn:
        await trio.lowlevel.checkpoint()
        raise type(self._error)(str(self._error))
