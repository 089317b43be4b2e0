"""How a store is opened and closed, and what stands in its place where it cannot be."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import structlog
import trio

from hookgate.protocol.catalog import StoreFailed
from hookgate.store.database import open_database
from hookgate.store.store import DEADLINE_S, Store, Thread
from hookgate.store.without import Without

log = structlog.get_logger("hookgate.store")


@asynccontextmanager
async def open_store(path: Path) -> AsyncGenerator[Store]:
    """The store in this file, which is made where it is missing: the file for its owner alone, as its folder.

    Raises StoreFailed and its kinds; the file is then as it was. Leaving closes the connection.
    """
    thread = Thread(path)
    database, contents = await thread.run(partial(open_database, path))
    try:
        yield Store(database, thread, contents)
    finally:
        with trio.move_on_after(DEADLINE_S, shield=True):
            await thread.run(lambda _attempt: database.close())


@asynccontextmanager
async def open_catalog(path: Path) -> AsyncGenerator[Store | Without]:
    """The store, or what a gateway goes on with where there is none: its `problem` says why."""
    async with AsyncExitStack() as stack:
        try:
            catalog = await stack.enter_async_context(open_store(path))
        except StoreFailed as error:
            log.warning("no_catalog", reason=str(error))
            catalog = Without(error)
        yield catalog
