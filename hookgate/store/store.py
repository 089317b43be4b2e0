"""The open store: rows in memory to read, and writes that reach the file first. Opens nothing itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import trio

from hookgate.protocol.catalog import EVERYWHERE, Description, Seen, ServerRow, StoreBusy, StoreChanged, ToolRow
from hookgate.protocol.dataclasses import replace
from hookgate.store import rows
from hookgate.store.database import Attempt, Database
from hookgate.store.rows import Contents, Key

if TYPE_CHECKING:
    from sqlite3 import Connection

T = TypeVar("T")
Row = TypeVar("Row", ToolRow, ServerRow)

DEADLINE_S = 5.0
"""How long a caller waits for a file that does not answer, whoever cancels meanwhile."""


class Thread:
    """Runs the blocking calls of one file, one after another; a call that has begun ends within DEADLINE_S."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._limiter = trio.CapacityLimiter(1)

    async def run(self, call: Callable[[Attempt], T], interrupt: Callable[[], None] = lambda: None) -> T:
        """Raises what the call raises, and StoreBusy at the deadline. Not cancellable in between."""
        await trio.lowlevel.checkpoint_if_cancelled()
        attempt = Attempt()
        with trio.move_on_after(DEADLINE_S, shield=True):
            return await trio.to_thread.run_sync(call, attempt, abandon_on_cancel=True, limiter=self._limiter)
        attempt.given_up = True
        interrupt()
        raise StoreBusy(f"{self._path} did not answer within {DEADLINE_S:g} s")


class Store:
    """A Catalog, and the descriptions. Writes wait for each other; what other processes wrote is seen after the next
    write or `refresh`."""

    problem = ""

    def __init__(self, database: Database, thread: Thread, contents: Contents) -> None:
        self._database, self._thread = database, thread
        self._lock = trio.Lock()
        self.contents = contents

    # --- the catalog ---

    def tools(self, workspace: str = EVERYWHERE) -> tuple[ToolRow, ...]:
        return _of_workspace(self.contents.tools, workspace)

    def servers(self, workspace: str = EVERYWHERE) -> tuple[ServerRow, ...]:
        return _of_workspace(self.contents.servers, workspace)

    async def put_tool(self, row: ToolRow, seen: Seen | None = None) -> ToolRow:
        kept = replace(row, updated_at=time.time())

        def put(connection: Connection) -> None:
            _compare_tool(connection, row.name, seen)
            rows.write_tool(connection, kept)

        await self._write(put)
        return kept

    async def remove_tool(self, name: str, workspace: str = EVERYWHERE, seen: Seen | None = None) -> bool:
        def remove(connection: Connection) -> bool:
            _compare_tool(connection, name, seen)
            return rows.remove_row(connection, "tools", (workspace, name))

        return await self._write(remove)

    async def put_server(self, row: ServerRow, seen: Seen | None = None) -> ServerRow:
        kept = replace(row, updated_at=time.time())

        def put(connection: Connection) -> None:
            if seen is not None:
                _compare(rows.read_contents(connection).servers, row.name, seen)
            rows.write_server(connection, kept)

        await self._write(put)
        return kept

    async def remove_server(self, name: str, workspace: str = EVERYWHERE) -> bool:
        return await self._write(lambda connection: rows.remove_row(connection, "mcp_servers", (workspace, name)))

    # --- the descriptions ---

    @property
    def descriptions(self) -> Mapping[str, Description]:
        return self.contents.descriptions

    @property
    def revision(self) -> int:
        """Of the descriptions: rises with every change, whoever made it, and never falls."""
        return self.contents.revision

    async def change_descriptions(self, texts: Mapping[str, str | None], by: str) -> int:
        """Set these texts, and delete those that are None, as one change. The revision after it: what is so already
        changes nothing. Raises StoreFailed."""
        await self._write(lambda connection: _change(connection, texts, by))
        return self.revision

    async def replace_descriptions(self, texts: Mapping[str, str], by: str) -> int:
        """As `change_descriptions`, but texts that are not named are deleted."""

        def change(connection: Connection) -> None:
            kept = rows.read_contents(connection).descriptions
            _change(connection, {**dict.fromkeys(kept), **texts}, by)

        await self._write(change)
        return self.revision

    # --- the file ---

    async def refresh(self) -> None:
        """Take over what other processes wrote. Raises StoreFailed."""
        async with self._lock:
            self.contents = await self._thread.run(self._database.read, self._database.interrupt)

    async def _write(self, change: Callable[[Connection], T]) -> T:
        def write(attempt: Attempt) -> tuple[T, Contents]:
            return self._database.write(attempt, change)

        async with self._lock:
            try:
                done, self.contents = await self._thread.run(write, self._database.interrupt)
            except StoreChanged:
                # Who tries again should go by what stands there.
                self.contents = await self._thread.run(self._database.read, self._database.interrupt)
                raise
        return done


def _compare_tool(connection: Connection, name: str, seen: Seen | None) -> None:
    if seen is not None:
        _compare(rows.read_contents(connection).tools, name, seen)


def _compare(kept: Mapping[Key, Row], name: str, seen: Seen) -> None:
    there = next((row for row in _of_workspace(kept, seen.workspace) if row.name == name), None)
    if there != seen.row:
        raise StoreChanged(f"holds another {name} by now: another process has changed it")


def _change(connection: Connection, texts: Mapping[str, str | None], by: str) -> None:
    """One new revision for all that differs, or none."""
    kept = {name: row.text for name, row in rows.read_contents(connection).descriptions.items()}
    # SQLite takes no lone surrogates.
    clean = {name: text and text.encode("utf-8", "replace").decode() for name, text in texts.items()}
    differing = {name: text for name, text in clean.items() if kept.get(name) != text}
    if not differing:
        return
    revision, now = rows.raise_revision(connection), time.time()
    for name, text in differing.items():
        if text is None:
            rows.remove_description(connection, name)
        else:
            rows.write_description(connection, Description(name, text, revision, now, by))


def _of_workspace(kept: Mapping[Key, Row], workspace: str) -> tuple[Row, ...]:
    everywhere = {name: row for (place, name), row in kept.items() if place == EVERYWHERE}
    own = {name: row for (place, name), row in kept.items() if place == workspace}
    return tuple(row for _name, row in sorted({**everywhere, **own}.items()))
