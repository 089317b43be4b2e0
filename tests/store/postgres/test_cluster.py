"""Several gateways on one database: where conversations are, what gateways tell each other, and what those leave
that go."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from time import time

import pytest
import trio
from structlog.testing import capture_logs

from hookgate.protocol.catalog import StoreBusy, StoreReadOnly, StoreTooNew
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.cluster import CHANGED, ROWS, WORK, Note
from hookgate.protocol.journal.values import Accepted, Arrival, Draft, Fenced
from hookgate.protocol.values import Message
from hookgate.store.journal.opening import StoredJournal
from hookgate.store.journal.schema import JOURNAL
from hookgate.store.places import Database
from hookgate.store.postgres import cluster, notes, open_postgres_journal, schema
from hookgate.store.postgres.cluster import LEASE_S, Beats, go
from hookgate.store.postgres.notes import CHANNEL
from hookgate.store.postgres.roll import Roll
from tests.forwarding import open_way
from tests.postgres import Server

DEADLINE_S = 60.0


@pytest.fixture
def database(server: Server, tmp_path: Path) -> Database:
    return Database(server.database(), tmp_path / "journal")


@asynccontextmanager
async def several(database: Database, many: int = 2) -> AsyncGenerator[list[StoredJournal]]:
    """Gateways that know of each other."""
    with trio.fail_after(DEADLINE_S):
        async with AsyncExitStack() as stack:
            journals = [
                await stack.enter_async_context(open_postgres_journal(database, shared=True)) for _ in range(many)
            ]
            for journal in journals:
                while len(journal.cluster.members) < many:
                    await trio.sleep(0.01)
            yield journals


async def said(journal: StoredJournal, chat: str, text: str, account: str = "") -> Accepted:
    arrival = Arrival(Inbound(Chat("test", chat, "ann"), text), "agent", f"{chat} {text}", account)
    return await journal.intake.accept(arrival)


async def heard(journal: StoredJournal, kind: str) -> trio.MemoryReceiveChannel[Note]:
    notes, inbox = trio.open_memory_channel[Note](100)
    journal.cluster.hear(kind, notes.send_nowait)
    return inbox


async def test_a_conversation_is_at_one_gateway_which_hears_of_what_others_take_in(database: Database) -> None:
    async with several(database) as (one, two):
        inbox = await heard(one, WORK)
        assert not (await said(one, "1", "first")).elsewhere
        second = await said(two, "1", "second")
        assert second.elsewhere
        assert (await inbox.receive()).session == "test:1"
        found = [it.inbound.text for it in await one.intake.unfinished(session="test:1")]
        assert found == ["first", "second"]
        assert await two.intake.unfinished() == ()
        assert await two.work.claim(two.work.me, 60, message=second.id) is None
        assert await two.cluster.owner("test:1") == one.cluster.me
        claim = await one.work.claim(one.work.me, 60)
        assert claim is not None
        assert claim.inbound is not None
        assert claim.inbound.text == "first"


async def test_what_waits_before_a_message_is_told_and_found_where_that_is_taken_in(database: Database) -> None:
    async with several(database) as (one, two):
        first = await said(one, "1", "first")
        assert not first.behind
        assert await one.work.claim(one.work.me, 60, message=first.id) is not None
        # Nobody has told of it yet.
        second = await said(two, "1", "second")
        third = await said(one, "1", "third")
        assert (second.elsewhere, third.elsewhere, third.behind) == (True, False, True)
        found = [it.inbound.text for it in await one.intake.unfinished(session="test:1")]
        assert found == ["first", "second", "third"]
        assert await two.intake.unfinished(session="test:1") == ()


async def test_a_command_begins_once_by_whoever_has_its_conversation(database: Database) -> None:
    async with several(database) as (one, two):
        await said(one, "1", "first")
        chat = Chat("test", "1", "ann")
        here = await one.intake.accept(Arrival(Inbound(chat, "/here"), "agent", "here", kind="command"))
        there = await two.intake.accept(Arrival(Inbound(chat, "/there"), "agent", "there", kind="command"))
        assert not await one.intake.begin(here.id)
        assert [it.begun for it in await one.intake.unfinished("command", "test:1")] == [True, False]
        assert await one.intake.begin(there.id)
        assert not await one.intake.begin(there.id)
        assert [it.begun for it in await one.intake.unfinished("command", "test:1")] == [True, True]


async def test_what_comes_from_a_platform_is_spread_and_what_waits_here_stays(database: Database) -> None:
    async with several(database, 3) as journals:
        for number in range(40):
            await said(journals[0], f"{number}", "hi", account="bot")
        owners = [await journals[0].cluster.owner(f"test:{number}") for number in range(40)]
        assert {owners.count(it.cluster.me) > 4 for it in journals} == {True}
        here = [await said(journals[1], f"p{number}", "hi") for number in range(10)]
        assert not any(it.elsewhere for it in here)


async def test_a_conversation_that_rests_goes_where_it_is_asked_for_and_one_at_work_stays(database: Database) -> None:
    async with several(database) as (one, two):
        await said(one, "1", "first")
        claim = await one.work.claim(one.work.me, 60)
        assert claim is not None
        assert (await said(two, "1", "second")).elsewhere
        await one.work.complete(claim, "answered")
        claim = await one.work.claim(one.work.me, 60)
        assert claim is not None
        # What is not there yet keeps it, too.
        await one.work.complete(claim, "answered", (), [Outbound(Chat("test", "1"), "done")])
        assert (await said(two, "1", "/stop")).elsewhere
        for it in await one.intake.unfinished():
            await one.intake.settle(it.accepted.id, "dropped")
        [row] = await one.posting.outgoing("test")
        assert await two.posting.outgoing("test") == ()
        await one.posting.sent(row.id, "there")
        assert not (await said(two, "1", "third")).elsewhere


async def test_who_posts_into_a_chat_that_is_elsewhere_tells_whoever_brings_it_there(database: Database) -> None:
    async with several(database) as (one, two):
        inbox = await heard(one, ROWS)
        await said(one, "1", "first")
        await two.posting.post("agent", [Outbound(Chat("test", "1"), "a card")])
        assert (await inbox.receive()).body["chat_id"] == "1"
        assert await two.posting.next_row(Chat("test", "1")) is None
        row = await one.posting.next_row(Chat("test", "1"))
        assert row is not None
        assert row.outbound.text == "a card"


async def test_a_note_may_be_long_and_goes_to_whom_it_is_for(database: Database) -> None:
    async with several(database, 3) as (one, two, three):
        for_two, for_three = await heard(two, "said"), await heard(three, "said")
        own = await heard(one, "said")
        one.cluster.tell(Note("said", body={"text": "x" * 50_000 + "\0\u2028ä"}), two.cluster.me)
        one.cluster.tell(Note("said", body={"text": "to all"}))
        assert (await for_two.receive()).body["text"] == "x" * 50_000 + "\0\u2028ä"
        assert (await for_two.receive()).body["text"] == "to all"
        assert (await for_three.receive()).body["text"] == "to all"
        with pytest.raises(trio.WouldBlock):
            own.receive_nowait()


async def test_what_a_gateway_that_leaves_had_is_shared_out(database: Database) -> None:
    async with several(database) as (one, two):
        async with open_postgres_journal(database, shared=True) as other:
            await said(other, "1", "left")
            assert await one.intake.unfinished(session="test:1") == ()
        while not await one.intake.unfinished(session="test:1") + await two.intake.unfinished(session="test:1"):
            await trio.sleep(0.02)


async def test_one_that_was_thought_dead_writes_nothing_and_comes_back(database: Database) -> None:
    async with several(database) as (one, two):
        accepted = await said(one, "1", "first")
        claim = await one.work.claim(one.work.me, 60, message=accepted.id)
        assert claim is not None
        await two.engine.write(partial(go, one.cluster.me))
        with pytest.raises(Fenced):
            await one.work.append(claim, [Draft(Message("assistant", "too late"))])
        owner = ""
        while not owner:
            owner = await two.cluster.owner("test:1")
            await trio.sleep(0.02)
        home = one if owner == one.cluster.me else two
        again = await home.work.claim(home.work.me, 60, message=accepted.id)
        assert again is not None
        assert again.fence > claim.fence
        while len(two.cluster.members) < 2:
            await trio.sleep(0.02)


async def test_one_that_has_no_beat_is_buried_by_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "LEASE_S", 1.0)
    monkeypatch.setattr(cluster, "BEAT_S", 0.1)
    async with several(database) as (one, two):
        add = "INSERT INTO gateways (id, name, version, since) VALUES ('gone', 'far', '0', 0)"
        await one.engine.write(lambda tables: tables.run(add))
        await said(one, "1", "first")
        own = "UPDATE owners SET gateway = 'gone' WHERE session = 'test:1'"
        await one.engine.write(lambda tables: tables.run(own))
        assert (await said(two, "1", "for the dead")).elsewhere
        while not await one.intake.unfinished() + await two.intake.unfinished():
            await trio.sleep(0.02)
        while "gone" in {it.id for it in one.cluster.members + two.cluster.members}:
            await trio.sleep(0.02)


def test_whoever_was_away_itself_buries_nobody_and_buries_the_dead_no_later_for_it() -> None:
    beats = Beats()
    assert beats.silent({"a": 1.0, "b": 1.0}, 100.0) == []
    for second in range(int(LEASE_S)):
        assert beats.silent({"a": 2.0 + second, "b": 1.0}, 101.0 + second) == (["b"] if second == LEASE_S - 1 else [])
    assert beats.silent({"a": 50.0, "c": 1.0}, 200.0) == []
    assert beats.silent({"a": 51.0, "c": 1.0}, 202.0) == []
    # It was stopped, and does not know what happened meanwhile: what it has seen before stands.
    assert beats.silent({"a": 51.0, "c": 1.0}, 500.0) == []
    assert beats.soonest(500.0) == LEASE_S - 2.0 - LEASE_S / 4
    assert beats.silent({"a": 52.0, "c": 1.0}, 502.5) == []
    assert beats.silent({"a": 53.0, "c": 1.0}, 505.0) == []
    assert beats.silent({"a": 54.0, "c": 1.0}, 505.5) == ["c"]


async def test_what_a_dead_one_had_is_not_given_to_one_of_which_nothing_is_seen_either(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with several(database) as (one, two):
        monkeypatch.setattr(cluster, "LEASE_S", 5.0)
        monkeypatch.setattr(cluster, "HUSH_S", 1.0)
        monkeypatch.setattr(cluster, "BEAT_S", 0.2)
        # It was stopped some seconds after the other one had died.
        add = "INSERT INTO gateways (id, name, version, since) VALUES (?, 'far', '0', 0)"
        await one.engine.write(lambda tables: tables.run(add, "dead"))
        for number in range(8):
            await said(one, f"{number}", "hi")
        await one.engine.write(lambda tables: tables.run("UPDATE owners SET gateway = 'dead'"))
        rolls = [it.cluster for it in (one, two) if isinstance(it.cluster, Roll)]
        while not all("dead" in it.hushed for it in rolls):
            await trio.sleep(0.02)
        await one.engine.write(lambda tables: tables.run(add, "stopped"))
        while "dead" in {it.id for it in one.cluster.members + two.cluster.members}:
            await trio.sleep(0.02)
        while len({await one.cluster.owner(f"test:{it}") for it in range(8)} & {"dead", ""}):
            await trio.sleep(0.02)
        owners = {await one.cluster.owner(f"test:{it}") for it in range(8)}
        assert owners <= {one.cluster.me, two.cluster.me}


async def test_nobody_has_it_alone_while_gateways_share_it(database: Database) -> None:
    async with several(database):
        with pytest.RaisesGroup(
            pytest.RaisesExc(StoreBusy, match="in use by another hookgate"), allow_unwrapped=True
        ):
            async with open_postgres_journal(database):
                pass
    with trio.fail_after(DEADLINE_S):
        async with open_postgres_journal(database):
            with pytest.RaisesGroup(pytest.RaisesExc(StoreBusy), allow_unwrapped=True):
                async with open_postgres_journal(database, shared=True):
                    pass


async def test_conversations_go_on_elsewhere_while_one_drains(database: Database) -> None:
    async with several(database) as (one, two):
        await one.cluster.drain()
        while not any(it.draining for it in two.cluster.members):
            await trio.sleep(0.02)
        for number in range(10):
            assert not (await said(two, f"{number}", "hi", account="bot")).elsewhere


async def test_who_listens_where_nothing_comes_any_more_listens_anew(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "QUIET_S", 0.2)
    address = server.database()
    async with open_way(server.port) as way:
        through = Database(address.replace(f":{server.port}/", f":{way.port}/"), tmp_path / "through")
        async with (
            open_postgres_journal(Database(address, tmp_path / "one"), shared=True) as one,
            open_postgres_journal(through, shared=True) as two,
        ):
            inbox = await heard(two, "said")
            with trio.fail_after(DEADLINE_S):
                while len(one.cluster.members) < 2:
                    await trio.sleep(0.01)
                # As behind a router that has forgotten the connection.
                way.silence()
                way.reopen()
                said_ = None
                while said_ is None:
                    one.cluster.tell(Note("said", body={"text": "are you there"}))
                    with trio.move_on_after(0.1):
                        said_ = await inbox.receive()


async def test_of_several_hosts_the_one_that_writes_is_found_behind_one_that_says_nothing(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookgate.store.postgres.waiting.CONNECT_S", 1.0)
    address = server.database()
    async with open_way(server.port) as way:
        way.silence()
        hosts = f"127.0.0.1:{way.port},127.0.0.1:{server.port}"
        several_ = address.replace(f"127.0.0.1:{server.port}", hosts) + "?target_session_attrs=read-write"
        with trio.fail_after(DEADLINE_S):
            async with open_postgres_journal(Database(several_, tmp_path / "journal"), shared=True) as journal:
                assert not (await said(journal, "1", "hi")).known


# --- versions one apart -------------------------------------------------------------------------------------


async def test_an_older_one_goes_on_beside_a_newer_one_and_two_versions_ahead_are_refused(
    server: Server, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = len(JOURNAL.migrations)
    async with several(database) as (one, two):
        # What the next version may do: it adds, while others run.
        added = ("ALTER TABLE outbox ADD COLUMN mood TEXT", "CREATE TABLE moods (name TEXT NOT NULL)")
        newer = replace(JOURNAL, migrations=(*JOURNAL.migrations, added))
        with monkeypatch.context() as patch:
            patch.setattr(schema, "JOURNAL", newer)
            async with open_postgres_journal(database, shared=True) as third:
                # They come from it, stand in it, and are told in its way.
                await said(third, "1", "from the newer one")
                third.cluster.tell(Note("mood", body={"mood": "good"}))
                told = (
                    f'[["x","","{WORK}","test:1",{{}},"more"]]',
                    f'[["x","","{ROWS}","",{{"new":"1"}}]]',
                    "{",
                    "[[]]",
                    "7",
                )
                for text in told:
                    server.sql(f"SELECT pg_notify('{CHANNEL}', '{text}')", database.address)
                assert (await said(two, "1", "and from an older one")).elsewhere
                while len(one.cluster.members) < 3:
                    await trio.sleep(0.02)
        told = await heard(two, "still heard")
        one.cluster.tell(Note("still heard"))
        assert (await told.receive()).kind == "still heard"
        # One that begins now knows one version less than there is.
        async with open_postgres_journal(database, shared=True) as older:
            assert (await said(older, "1", "from the newer one")).known
    assert server.sql("SELECT number FROM hookgate.version", database.address) == f"{newest + 1}\n"
    server.sql("UPDATE hookgate.version SET number = number + 1", database.address)
    with pytest.raises(StoreTooNew, match=f"has version {newest + 2}, made by a newer hookgate"):
        async with open_postgres_journal(database, shared=True):
            pass


# --- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jump", [300.0, -300.0, 1e6])
async def test_a_wall_clock_that_jumps_ends_nobody(database: Database, jump: float) -> None:
    now = [time()]
    with trio.fail_after(DEADLINE_S):
        async with (
            open_postgres_journal(database, shared=True, wall=lambda: now[0]) as one,
            open_postgres_journal(database, shared=True, wall=lambda: 5.0) as two,
        ):
            accepted = await said(one, "1", "first")
            claim = await one.work.claim(one.work.me, 60, message=accepted.id)
            assert claim is not None
            assert await one.cluster.take("lease")
            now[0] += jump
            for _ in range(3):
                beats = await beats_of(one)
                while any(it <= beats[id_] for id_, it in (await beats_of(two)).items()):
                    await trio.sleep(0.05)
            assert {it.id for it in two.cluster.members} == {one.cluster.me, two.cluster.me}
            assert not await two.cluster.take("lease")
            assert await two.work.claim(two.work.me, 60, message=accepted.id) is None
            await one.work.complete(claim, "answered")


async def beats_of(journal: StoredJournal) -> dict[str, int]:
    return dict(await journal.engine.read(lambda tables: tables.all("SELECT id, beat FROM gateways")))


async def test_what_cannot_be_told_is_found_all_the_same(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the queue of notifications is full: then none leaves."""
    monkeypatch.setattr(notes, "CHANNEL", "x" * 100)
    with capture_logs() as logs:
        async with several(database) as (one, two):
            inbox = await heard(one, CHANGED)
            await said(one, "1", "first")
            assert (await said(two, "1", "second")).elsewhere
            while "others_not_told" not in {it["event"] for it in logs}:
                await trio.sleep(0.02)
            # Nobody has told it, so it looks by itself.
            while inbox.statistics().current_buffer_used:
                inbox.receive_nowait()
            await inbox.receive()
            assert len(await one.intake.unfinished(session="test:1")) == 2


async def test_a_database_that_takes_nothing_is_said_at_each_gateway_and_both_go_on_when_it_does(
    server: Server, database: Database
) -> None:
    name = database.address.rpartition("/")[2]
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    async with several(database) as (one, two):
        await said(one, "1", "before")
        server.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        server.sql(cut)
        for journal in (one, two):
            with pytest.raises(StoreReadOnly, match="read-only"):
                await said(journal, "1", "lost")
        server.sql(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        server.sql(cut)
        assert not (await said(two, "1", "lost")).known
        assert (await said(one, "1", "lost")).known
        assert {it.inbound.text for it in await one.intake.unfinished()} == {"before", "lost"}
