"""Gateways on one database: how one comes and goes, who is gone, and what becomes of what they had.

A gateway lives while its beat goes on. That is judged by each with its own clock, so that no clock that jumps ends
anybody; what one that was gone still writes is refused by the fences of its claims.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from functools import partial

import structlog
import trio

from hookgate import __version__
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.cluster import CHANGED, Member, Note
from hookgate.store.journal.claims import end_claims
from hookgate.store.journal.statements import Row
from hookgate.store.journal.tables import Tables
from hookgate.store.postgres.engine import SharedEngine
from hookgate.store.postgres.notes import forget_notes
from hookgate.store.postgres.roll import Roll

log = structlog.get_logger("hookgate.store")

LEASE_S, BEAT_S = 10.0, 1.0
"""How long a gateway without a beat counts as alive; how often each has one."""
HUSH_S = 3.5
"""Without a beat for so long a gateway is given nothing more: it may have died as well."""
LOOK_S = 5.0
"""How often somebody looks for what no gateway has."""

NEWCOMER = "INSERT INTO gateways (id, name, version, since) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
MEMBERS = "SELECT id, name, version, since, draining, beat FROM gateways ORDER BY since, id"
LEFT = """
    SELECT found.session FROM (
        SELECT c.session FROM messages m JOIN conversations c ON c.number = m.conversation
        WHERE m.outcome IS NULL AND m.kind = 'message' AND m.joined_at = 0
        UNION SELECT c.session FROM messages m JOIN conversations c ON c.number = m.conversation
        WHERE m.outcome IS NULL AND m.kind <> 'message'
        UNION SELECT chat FROM outbox WHERE state IS NULL
    ) found (session) WHERE NOT EXISTS (SELECT 1 FROM owners o WHERE o.session = found.session)
"""
"""Conversations in which there is something to do and that nobody has."""
HOLDER = "SELECT h.holder FROM holds h JOIN gateways g ON g.id = h.holder WHERE h.name = ?"
TAKE = """
    INSERT INTO holds (name, holder, until) SELECT ?1, id, 0 FROM gateways WHERE id = ?2
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder
    WHERE holds.holder = excluded.holder OR NOT EXISTS (SELECT 1 FROM gateways g WHERE g.id = holds.holder)
"""
"""A lease ends with its holder: whoever is none of them has nothing."""


class SharedCluster(Roll):
    """A Cluster: this gateway among those on its database. `engine` comes with the connection."""

    engine: SharedEngine

    async def described(self) -> Mapping[str, str]:
        sql = "SELECT id, description FROM gateways"
        return dict(await self.engine.read(lambda tables: tables.all(sql)))

    async def owner(self, session: str) -> str:
        sql = "SELECT gateway FROM owners WHERE session = ?"
        row = await self.engine.read(lambda tables: tables.one(sql, session))
        return row[0] if row else ""

    async def drain(self) -> None:
        await self.engine.write(
            lambda tables: tables.run("UPDATE gateways SET draining = true WHERE id = ?", self.me)
        )
        self.meet(tuple(replace(it, draining=it.draining or it.id == self.me) for it in self.members))

    async def holder(self, name: str) -> str:
        row = await self.engine.read(lambda tables: tables.one(HOLDER, name))
        return row[0] if row else ""

    async def take(self, name: str) -> bool:
        return await self.engine.write(lambda tables: tables.run(TAKE, name, self.me)) > 0

    async def give(self, name: str) -> None:
        sql = "DELETE FROM holds WHERE name = ? AND holder = ?"
        await self.engine.write(lambda tables: tables.run(sql, name, self.me))


class Beats:
    """Which gateways have been without a beat for too long, as far as this one could see."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, float]] = {}
        """Of each its beat, and for how long that has been the same."""
        self._looked = 0.0

    def silent(self, beats: Mapping[str, float], now: float) -> list[str]:
        """`now`: seconds of a clock that never jumps. Whoever was away itself, or without a database, knows little of
        what the others did meanwhile: that time counts as a moment."""
        passed, self._looked = min(now - self._looked, LEASE_S / 4), now
        self._seen = {id_: (beat, self._same(id_, beat, passed)) for id_, beat in beats.items()}
        return self.without_for(LEASE_S)

    def without_for(self, seconds: float) -> list[str]:
        return [id_ for id_, (_, same_s) in self._seen.items() if same_s >= seconds]

    def soonest(self, now: float) -> float:
        """Seconds until the next of them counts as gone."""
        left = (LEASE_S - same_s - (now - self._looked) for _, same_s in self._seen.values())
        return min((it for it in left if it > 0), default=BEAT_S)

    def _same(self, id_: str, beat: float, passed: float) -> float:
        before = self._seen.get(id_)
        return before[1] + passed if before is not None and before[0] == beat else 0.0


# --- coming and going ---------------------------------------------------------------------------------------


def come(me: str, tables: Tables) -> None:
    """It is one of them from now on."""
    tables.run(NEWCOMER, me, f"{socket.gethostname()}:{os.getpid()}", __version__, tables.clock())


def go(id_: str, tables: Tables) -> None:
    """What it had is anybody's."""
    # Conversations belong to it no more before its claims end: whoever claims holds the first, and then the other.
    tables.run("DELETE FROM gateways WHERE id = ?", id_)
    tables.run("DELETE FROM holds WHERE holder = ?", id_)
    end_claims(tables, id_)


def bury(id_: str, beat: int, tables: Tables) -> bool:
    """False: it lives, or somebody else has."""
    if tables.held("SELECT 1 FROM gateways WHERE id = ? AND beat = ?", id_, beat) is None:
        return False
    go(id_, tables)
    return True


async def run_beating(engine: SharedEngine, roll: Roll, started: Callable[[], None]) -> None:
    """`started` is called once this one is seen by all others."""
    beats, looked = Beats(), -LOOK_S
    while True:
        try:
            began, said = trio.current_time(), roll.description
            rows, was_away = await engine.write(partial(_beat, roll.me, said, news=said != roll.written))
            roll.written = said
            if was_away:
                roll.buried()
            roll.seen(began + LEASE_S)
            silent = beats.silent({it[0]: it[5] for it in rows if it[0] != roll.me}, trio.current_time())
            roll.hushed = beats.without_for(HUSH_S)
            for id_, name, *_, beat in (it for it in rows if it[0] in silent):
                if await engine.write(partial(bury, id_, beat)):
                    log.warning("gateway_lost", gateway=name)
            known = roll.members
            roll.meet(tuple(Member(*it[:5]) for it in rows if it[0] not in silent))
            if roll.members != known or trio.current_time() - looked >= LOOK_S:
                looked = trio.current_time()
                await _share_out(engine, roll)
            started()
        except StoreFailed as error:
            log.warning("database_lost", reason=str(error))
        await trio.sleep(min(BEAT_S, beats.soonest(trio.current_time())))


def _beat(me: str, description: str, tables: Tables, *, news: bool) -> tuple[list[Row], bool]:
    """All of them, and whether others had buried this one. `news`: it says something else of itself than before."""
    was_away = not tables.run("UPDATE gateways SET beat = beat + 1 WHERE id = ?", me)
    if was_away:
        come(me, tables)
        log.warning("gateway_was_away", reason="others have taken over what it had; it begins anew")
    if news or was_away:
        tables.run("UPDATE gateways SET description = ? WHERE id = ?", description, me)
    return tables.all(MEMBERS), was_away


async def _share_out(engine: SharedEngine, roll: Roll) -> None:
    """What nobody has goes where it belongs."""

    def share_out(tables: Tables) -> None:
        forget_notes(tables)
        for (session,) in tables.all(LEFT):
            tables.own(session, here=False)
            tables.stir(session)

    await engine.write(share_out)
    roll.heard(Note(CHANGED))


async def run_following(roll: Roll) -> None:
    """What others have altered is read again; what cannot be read now is, with the next look."""
    while True:
        for load in await roll.stale():
            try:
                await load()
            except StoreFailed as error:
                log.warning("database_lost", reason=str(error))
