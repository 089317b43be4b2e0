"""Connections that one gateway of several has: who has them, and where they go when it ends, drains or was away."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from hookgate.channels.platforms import leases
from hookgate.channels.platforms.leases import Lease
from hookgate.channels.platforms.reception import Connecting
from hookgate.store.journal.opening import StoredJournal
from hookgate.store.places import Database
from hookgate.store.postgres import cluster, open_postgres_journal
from hookgate.store.postgres.cluster import go
from tests.postgres import Server

DEADLINE_S = 60.0


@pytest.fixture
def database(server: Server, tmp_path: Path) -> Database:
    return Database(server.database(), tmp_path / "journal")


class Gateway:
    """`has`: the names of the connections that it has now."""

    def __init__(self, journal: StoredJournal, names: tuple[str, ...]) -> None:
        self.journal, self.cluster = journal, journal.cluster
        self.has = set[str]()
        self.takes = 0
        self.states = {name: Connecting(name) for name in names}

    async def run(self, name: str) -> None:
        await Lease(self.cluster, name, self.states[name]).run(partial(self._receive, name))

    async def _receive(self, name: str) -> None:
        self.has.add(name)
        self.takes += 1
        self.states[name].works()
        try:
            await trio.sleep_forever()
        finally:
            self.has.discard(name)


@asynccontextmanager
async def gateway(database: Database, *names: str) -> AsyncGenerator[Gateway]:
    async with open_postgres_journal(database, shared=True) as journal, trio.open_nursery() as nursery:
        found = Gateway(journal, names)
        for name in names:
            nursery.start_soon(found.run, name)
        yield found
        nursery.cancel_scope.cancel()


def names_of(place: Gateway, wanted: int) -> list[str]:
    """That belong there."""
    return [
        name for n in range(100) if place.cluster.place_of(f"connection {(name := f'c{n}')}") == place.cluster.me
    ][:wanted]


async def test_one_of_them_has_it_and_the_others_say_who(database: Database) -> None:
    with trio.fail_after(DEADLINE_S):
        async with gateway(database, "tg") as one, gateway(database, "tg") as two:
            while not any(it.states["tg"].state.state == "elsewhere" for it in (one, two)):
                await trio.sleep(0.02)
            holder, other = (one, two) if one.has else (two, one)
            assert (holder.has, other.has) == ({"tg"}, set())
            [name] = [it.name for it in one.cluster.members if it.id == holder.cluster.me]
            assert other.states["tg"].state.why == f"held by {name}"


async def test_they_are_spread_as_gateways_come_and_go(database: Database) -> None:
    names = tuple(f"c{n}" for n in range(12))
    with trio.fail_after(DEADLINE_S):
        async with gateway(database, *names) as one:
            while len(one.has) < len(names):
                await trio.sleep(0.02)
            async with gateway(database, *names) as two:
                while not (two.has and len(one.has) + len(two.has) == len(names)):
                    await trio.sleep(0.02)
                assert all(two.cluster.place_of(f"connection {it}") == two.cluster.me for it in two.has)
                await two.cluster.drain()
                while len(one.has) < len(names):
                    await trio.sleep(0.02)
                assert two.has == set()


async def test_what_is_not_come_for_where_it_belongs_goes_to_another(database: Database) -> None:
    with trio.fail_after(DEADLINE_S):
        async with gateway(database) as one:
            while not (names := names_of(one, 1)):
                await trio.sleep(0.02)
            async with gateway(database, *names) as two:
                while len(two.cluster.members) < 2 or not two.has:
                    await trio.sleep(0.02)


async def test_who_was_thought_dead_lets_go_before_it_takes_anything_in(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LEAST_S", 0.1)
    monkeypatch.setattr(leases, "AGAIN_S", 0.2)
    with trio.fail_after(DEADLINE_S):
        async with gateway(database, "tg") as one:
            while not one.has:
                await trio.sleep(0.02)
            async with open_postgres_journal(database, shared=True) as other:
                await other.engine.write(partial(go, one.cluster.me))
                assert await other.cluster.take("connection tg")
                while one.has:
                    await trio.sleep(0.02)
                assert await other.cluster.holder("connection tg") == other.cluster.me
            while one.takes < 2:
                await trio.sleep(0.02)


async def test_what_is_had_ends_before_others_may_take_its_holder_for_gone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for one that was stopped: its beats cease, and nobody has told it anything."""
    monkeypatch.setattr(cluster, "LEASE_S", 2.0)
    with trio.fail_after(DEADLINE_S):
        async with gateway(database, "tg") as one:
            while not one.has:
                await trio.sleep(0.02)
            monkeypatch.setattr(cluster, "BEAT_S", 600.0)
            while one.has:
                await trio.sleep(0.02)


async def test_one_that_is_no_member_has_nothing(database: Database) -> None:
    with trio.fail_after(DEADLINE_S):
        async with gateway(database) as one, gateway(database) as two:
            take = "INSERT INTO holds (name, holder, until) VALUES ('connection tg', 'nobody', 9e9)"
            await one.journal.engine.write(lambda tables: tables.run(take))
            assert await one.cluster.holder("connection tg") == ""
            assert await two.cluster.take("connection tg")
            assert not await one.cluster.take("connection tg")
            await one.cluster.give("connection tg")
            assert await one.cluster.holder("connection tg") == two.cluster.me
            await two.cluster.give("connection tg")
            assert await one.cluster.take("connection tg")
