"""Where journals lie, and how a run that keeps one has it: opened as configured, with what is too old dropped.

The gateway has one. Each conversation that somebody at a terminal or on a pipe keeps by name has its own, so that
several go on side by side, and beside a gateway.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate import config as configuration
from hookgate.assembly.settings import KeptConversation, kept_name
from hookgate.config import ConfigError
from hookgate.protocol.catalog import StoreBusy, StoreFailed
from hookgate.protocol.dataclasses import dataclass
from hookgate.sections import Config
from hookgate.store.places import Database, JournalPlace, open_journal_at

if TYPE_CHECKING:
    from hookgate.store.journal import StoredJournal

log = structlog.get_logger("hookgate.journal")

DAY_S = 86400.0
MB = 1_000_000
WORKSPACE = "workspace"


def journal_place(config: Config) -> JournalPlace:
    """Where the gateway's journal lies."""
    file = configuration.journal_file(config)
    return Database(config.store.url, file) if config.store.url else file


@asynccontextmanager
async def open_kept_journal(
    config: Config, file: JournalPlace, *, named: bool = False
) -> AsyncGenerator[StoredJournal]:
    """The journal that lies there. What the configuration keeps no longer is dropped now and every day; with `named`,
    as the gateway has it, in conversations that are kept by name as well, which may never be opened again.

    Raises StoreFailed and its kinds.
    """
    from hookgate.store.moving import HALF, is_half

    async with (
        open_journal_at(file, config.store.durability, shared=named) as journal,
        trio.open_nursery() as nursery,
    ):
        if await journal.engine.read(is_half):
            raise StoreFailed(f"{file} {HALF}")
        nursery.start_soon(_run_retention, config, journal, named)
        yield journal
        nursery.cancel_scope.cancel()


async def _run_retention(config: Config, journal: StoredJournal, named: bool) -> None:
    age_s, most_bytes = config.store.keep_days * DAY_S, int(config.store.keep_mb * MB)
    while age_s or most_bytes:
        try:
            if await journal.holds.hold("retention", journal.cluster.me, 2 * DAY_S):
                await journal.retention.keep(age_s=age_s, most_bytes=most_bytes)
        except StoreFailed as error:
            log.warning("journal_not_trimmed", reason=str(error))
        if named:
            await trim_conversations(config, age_s, most_bytes)
        await trio.sleep(DAY_S)


# --- conversations that are kept by name --------------------------------------------------------------------


@asynccontextmanager
async def open_conversation_journal(
    config: Config, channel: str, keep: KeptConversation
) -> AsyncGenerator[StoredJournal | None]:
    """That of one conversation on this channel; None where none is kept. Raises ConfigError and StoreFailed:
    StoreBusy where it is open in another hookgate."""
    workspace = configuration.workspace_key(config)
    file = _kept_file(config, channel, keep) if keep else None
    if file is None:
        yield None
        return
    try:
        async with open_kept_journal(config, file) as journal:
            await journal.holds.keep_state(channel, WORKSPACE, workspace)
            yield journal
    except* StoreBusy as group:
        raise StoreBusy(f"{group.exceptions[0]}: end that one first, or begin another with --session NAME") from None


def conversation_file(config: Config, channel: str, name: str) -> Path:
    """Raises ConfigError."""
    return configuration.conversations_folder(config) / channel / f"{kept_name(name)}.db"


def conversation_files(config: Config, channel: str = "*") -> list[Path]:
    """What is kept, the last that was written to first."""
    return sorted(configuration.conversations_folder(config).glob(f"{channel}/*.db"), key=_written, reverse=True)


async def trim_conversations(config: Config, age_s: float, most_bytes: int) -> int:
    """Drop what is older and too much of each; how many have lost something. None of them counts as written to."""
    trimmed = 0
    for file in conversation_files(config):
        try:
            trimmed += await _trim(config, file, age_s, most_bytes)
        except StoreBusy:
            # It is open, and trimmed by whoever has it.
            continue
        except (StoreFailed, OSError) as error:
            log.warning("journal_not_trimmed", reason=str(error))
    return trimmed


async def _trim(config: Config, file: Path, age_s: float, most_bytes: int) -> bool:
    from hookgate.store.journal import open_journal
    from hookgate.store.journal.operators.looking import open_look
    from hookgate.store.journal.operators.retention import is_due

    def look() -> bool:
        with open_look(file) as tables:
            return is_due(tables, age_s, most_bytes)

    if not await trio.to_thread.run_sync(look):
        return False
    written = _written(file)
    async with open_journal(file, config.store.durability) as journal:
        await journal.retention.keep(age_s=age_s, most_bytes=most_bytes)
    os.utime(file, (written, written))
    return True


def _kept_file(config: Config, channel: str, keep: KeptConversation) -> Path | None:
    if keep.name:
        return conversation_file(config, channel, keep.name)
    workspace = configuration.workspace_key(config)
    last = _last_said(config, channel, workspace)
    if last is not None or keep.lenient:
        return last
    raise ConfigError(f"--continue: no conversation is kept in {workspace}: begin one with --session NAME")


def _last_said(config: Config, channel: str, workspace: str) -> Path | None:
    """The one in which something was said last: what copies and restores makes a file newer, and none of them older.
    Blocks."""
    last, found = 0.0, None
    for file in conversation_files(config, channel):
        if found is not None and _written(file) < last:
            break
        it = kept_conversation(file, channel)
        # Of two with the same the newer file is the copy.
        if it is not None and it.workspace == workspace and (found is None or it.said > last or it.said == last > 0):
            last, found = it.said, file
    return found


def _written(file: Path) -> float:
    return max(_times(file))


def _times(file: Path) -> Iterator[float]:
    for it in (file, Path(f"{file}-wal")):
        yield it.stat().st_mtime if it.exists() else 0.0


@dataclass(frozen=True)
class StoredConversation:
    """A conversation that is kept by name. `title`: how its first message begins; empty: nothing was said in it.
    `said`: when something was last, in seconds of the wall clock, else 0."""

    name: str
    workspace: str
    title: str
    said: float


def drop_unused(file: Path) -> None:
    """A conversation that was closed without a word, or a command, is gone. Blocks."""
    from hookgate.store.journal.operators.looking import is_unused, open_look

    try:
        with open_look(file) as tables:
            unused = is_unused(tables)
    except StoreFailed as error:
        log.warning("conversation_unreadable", reason=str(error))
        return
    if unused:
        for it in (file, Path(f"{file}-wal"), Path(f"{file}-shm"), Path(f"{file}.lock")):
            it.unlink(missing_ok=True)


def kept_conversation(file: Path, channel: str) -> StoredConversation | None:
    """What is in this file; None where nothing is that can be read. Blocks."""
    from hookgate.store.journal.chats import read_chats
    from hookgate.store.journal.operators.books import state_of
    from hookgate.store.journal.operators.looking import open_look

    if not file.is_file():
        return None
    try:
        with open_look(file) as tables:
            said = read_chats(tables, f"{channel}:", most=1)
            title, at = (said[0].title, said[0].last_at) if said else ("", 0.0)
            return StoredConversation(file.stem, state_of(tables, channel, WORKSPACE), title, at)
    except StoreFailed as error:
        log.warning("conversation_unreadable", reason=str(error))
        return None
