"""What operators ask, and what only one gateway may hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.values import Conversation
from hookgate.protocol.journal.views import Overview, SessionRow, Whereabouts
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.operators import letters
from hookgate.store.journal.operators.forgetting import forget
from hookgate.store.journal.operators.listing import read_sessions
from hookgate.store.journal.operators.overview import overview
from hookgate.store.journal.operators.whereabouts import find_messages
from hookgate.store.journal.tables import Tables

KEEP_STATE = """
    INSERT INTO states (channel, name, value) VALUES (?, ?, ?)
    ON CONFLICT (channel, name) DO UPDATE SET value = excluded.value
"""


class Books:
    def __init__(self, path: Path, engine: Engine) -> None:
        self._path, self._engine = path, engine

    async def where(self, message: str) -> tuple[Whereabouts, ...]:
        return await self._engine.read(lambda tables: find_messages(tables, message))

    async def sessions(self) -> tuple[SessionRow, ...]:
        return await self._engine.read(read_sessions)

    async def overview(self) -> Overview:
        return await self._engine.read(partial(overview, self._path))

    async def retry(self, letter: str, by: str) -> Chat | None:
        return await self._engine.write(lambda tables: letters.retry(tables, letter, by), barrier=True)

    async def drop(self, letter: str, by: str) -> bool:
        return await self._engine.write(lambda tables: letters.drop(tables, letter, by), barrier=True)

    async def forget(self, conversation: Conversation) -> None:
        await self._engine.write(lambda tables: forget(tables, conversation), barrier=True)


def state_of(tables: Tables, channel: str, name: str) -> str:
    row = tables.one("SELECT value FROM states WHERE channel = ? AND name = ?", channel, name)
    return row[0] if row else ""


def change_state(channel: str, name: str, change: Callable[[str], str], tables: Tables) -> str:
    tables.hold(f"state {name} of {channel}", alone=True)
    before = state_of(tables, channel, name)
    value = change(before)
    if value != before:
        tables.run(KEEP_STATE, channel, name, value)
    return value


HOLD = """
    INSERT INTO holds (name, holder, until) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE
    SET holder = excluded.holder, until = excluded.until WHERE holds.holder = ?2 OR holds.until <= ?4
"""


def hold(name: str, by: str, lease_s: float, tables: Tables) -> bool:
    """Whether it is theirs now: nobody had it, or they did, or that lease is over."""
    now = tables.clock()
    return tables.run(HOLD, name, by, now + lease_s, now) > 0


class Holds:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def hold(self, name: str, by: str, lease_s: float) -> bool:
        return await self._engine.write(partial(hold, name, by, lease_s))

    async def state(self, channel: str, name: str) -> str:
        return await self._engine.read(lambda tables: state_of(tables, channel, name))

    async def keep_state(self, channel: str, name: str, value: str) -> None:
        await self._engine.write(lambda tables: tables.run(KEEP_STATE, channel, name, value))

    async def change_state(self, channel: str, name: str, change: Callable[[str], str]) -> str:
        return await self._engine.write(partial(change_state, channel, name, change))
