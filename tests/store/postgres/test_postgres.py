"""A journal in PostgreSQL: who may have it, what its deaths come to, and a gateway that has it there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest
import trio
import trio.lowlevel

from hookgate.config import ConfigError
from hookgate.config import load as load_config
from hookgate.protocol.catalog import StoreBusy, StoreCorrupt, StoreFailed, StoreReadOnly, StoreTooNew
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.journal.values import Accepted, Arrival
from hookgate.store.journal.opening import StoredJournal
from hookgate.store.places import Database, open_look_at
from hookgate.store.postgres import open_postgres_journal
from tests.cli.program import run
from tests.forwarding import open_way
from tests.postgres import Server, postgres, programs, standby
from tests.serve.gateway import configured, get, open_served
from tests.serve.started import says, serving, until

DEADLINE_S = 60.0
NO_SERVER = pytest.mark.skipif(programs() is None, reason="this machine has no PostgreSQL server")
WEB = """
[agent]
model = "p/m"
[providers.p]
kind = "scripted"
script = "script.json"
[http]
listen = "127.0.0.1:0"
[channels.web]
kind = "web"
[store]
url = "{}"
"""


@pytest.fixture
def database(server: Server, tmp_path: Path) -> Database:
    return Database(server.database(), tmp_path / "journal")


@asynccontextmanager
async def opened(database: Database) -> AsyncGenerator[StoredJournal]:
    with trio.fail_after(DEADLINE_S):
        async with open_postgres_journal(database) as journal:
            yield journal


async def accepted(journal: StoredJournal, text: str) -> Accepted:
    return await journal.intake.accept(Arrival(Inbound(Chat("test", "1", "ann"), text), "agent", text))


# --- who may have it ----------------------------------------------------------------------------------------


async def test_a_second_gateway_is_refused_and_may_come_when_the_first_is_gone(database: Database) -> None:
    async with opened(database):
        with pytest.RaisesGroup(
            pytest.RaisesExc(StoreBusy, match="in use by another hookgate"), allow_unwrapped=True
        ):
            async with opened(database):
                pass
    async with opened(database) as journal:
        assert not (await accepted(journal, "hello")).known


async def test_many_that_come_at_once_make_its_tables_once(server: Server, database: Database) -> None:
    busy = 0

    async def come() -> None:
        nonlocal busy
        try:
            async with opened(database):
                await trio.lowlevel.checkpoint()
        except* StoreBusy:
            busy += 1

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(come)
    assert busy < 4
    assert server.sql("SELECT count(*) FROM hookgate.version", database.address) == "1\n"


async def test_the_schema_of_another_program_and_that_of_a_newer_hookgate_are_left_as_they_are(
    server: Server, database: Database
) -> None:
    server.sql("CREATE SCHEMA hookgate; CREATE TABLE hookgate.theirs (n INT)", database.address)
    with pytest.raises(StoreCorrupt, match="a schema hookgate of another program"):
        async with opened(database):
            pass
    assert server.sql("SELECT count(*) FROM hookgate.theirs", database.address) == "0\n"
    newer = Database(server.database(), database.beside)
    async with opened(newer):
        pass
    server.sql("UPDATE hookgate.version SET number = 999", newer.address)
    with pytest.raises(StoreTooNew, match="has version 999, made by a newer hookgate"):
        async with opened(newer):
            pass


async def test_who_may_not_write_is_told_so(server: Server, database: Database) -> None:
    async with opened(database):
        pass
    name = database.address.rpartition("/")[2]
    server.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(StoreReadOnly, match="read-only"):
        async with opened(database):
            pass
    with open_look_at(database) as tables:
        assert tables.one("SELECT count(*) FROM messages") == (0,)


async def test_an_address_where_nobody_answers_is_named_without_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookgate.store.postgres.engine.AWAY_S", 0.0)
    monkeypatch.setenv("PGPASSWORD", "not-to-be-seen")
    with pytest.raises(StoreFailed, match=r"PostgreSQL d at 127\.0\.0\.1: .*refused") as refused:
        async with opened(Database("postgresql://ann@127.0.0.1:1/d", tmp_path / "journal")):
            pass
    assert "not-to-be-seen" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://ann@db/d", "an address is postgresql://USER@HOST:PORT/NAME"),
        ("postgresql://ann:secret@db/d", "it holds a password: set PGPASSWORD"),
        ("postgresql://db/d?password=secret", "it holds a password: set PGPASSWORD"),
    ],
)
def test_an_address_that_cannot_be_used_is_a_mistake_that_repeats_no_password(
    tmp_path: Path, url: str, why: str
) -> None:
    (tmp_path / "hookgate.toml").write_text(f'[store]\nurl = "{url}"\n')
    with pytest.raises(ConfigError, match=why) as refused:
        load_config(tmp_path / "hookgate.toml")
    assert "secret" not in str(refused.value)


# --- how it dies --------------------------------------------------------------------------------------------


@NO_SERVER
@pytest.mark.parametrize("how", ["fast", "immediate"])
async def test_a_database_that_goes_away_and_comes_back_costs_time_and_nothing_else(tmp_path: Path, how: str) -> None:
    with postgres("fsync = on") as server:
        database = Database(server.database(), tmp_path / "journal")
        async with opened(database) as journal:
            before = await accepted(journal, "before")
            await trio.to_thread.run_sync(server.stop, how)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.to_thread.run_sync, server.start)
                during = await accepted(journal, "during")
            assert not during.known
            assert (await accepted(journal, "before")) == Accepted(before.id, before.conversation, known=True)
            found = await journal.intake.unfinished()
        assert [it.inbound.text for it in found] == ["before", "during"]


async def test_a_step_whose_connection_is_cut_is_stored_once_or_not_at_all(
    server: Server, database: Database
) -> None:
    async with opened(database) as journal:
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hookgate'"
        stored = list[Accepted]()

        async def say(who: int) -> None:
            for number in range(20):
                stored.append(await accepted(journal, f"{who}.{number}"))

        async with trio.open_nursery() as nursery:
            for who in range(4):
                nursery.start_soon(say, who)
            for _ in range(4):
                await trio.to_thread.run_sync(server.sql, cut)
        assert not any(it.known for it in stored)
        assert len({it.id for it in stored}) == 80
        assert len(await journal.intake.unfinished()) == 80


async def test_messages_that_come_together_are_stored_together_and_wait_for_no_chat_that_is_held(
    database: Database,
) -> None:
    came: dict[str, Accepted] = {}

    async def come(journal: StoredJournal, chat: str, text: str, key: str, offset: str = "") -> None:
        arrival = Arrival(Inbound(Chat("test", chat, "ann"), text), "agent", key, offset=offset)
        came[text] = await journal.intake.accept(arrival)

    async with opened(database) as journal:
        for chat in "12":
            await come(journal, chat, f"first of {chat}", chat)
        with psycopg.connect(database.address) as other:
            other.execute("SELECT pg_advisory_xact_lock(hashtextextended('test:2', 0))")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(come, journal, "1", "alone", "a")
                nursery.start_soon(come, journal, "2", "held", "b")
                nursery.start_soon(come, journal, "1", "zero \0", "c", "17")
                nursery.start_soon(come, journal, "1", "known", "1")
                nursery.start_soon(come, journal, "3", "new", "d")
                while len(came) < 6:
                    await trio.sleep(0.02)
                assert "held" not in came
                other.rollback()
        assert {text for text, it in came.items() if it.known} == {"known"}
        assert came["known"].id == came["first of 1"].id
        assert await journal.intake.offset("test", "") == "17"
        waiting = [it.inbound.text for it in await journal.intake.unfinished()]
        assert sorted(waiting) == ["alone", "first of 1", "first of 2", "held", "new", "zero \0"]


async def test_a_connection_that_is_cut_where_the_database_hears_nothing_of_it_ends_no_gateway(
    server: Server, tmp_path: Path
) -> None:
    async with open_way(server.port) as way:
        address = server.database().replace(f":{server.port}/", f":{way.port}/")
        async with opened(Database(address, tmp_path / "journal")) as journal:
            assert not (await accepted(journal, "before")).known
            await way.cut()
            assert not (await accepted(journal, "after")).known
            assert len(await journal.intake.unfinished()) == 2


@NO_SERVER
async def test_what_a_standby_never_got_is_not_taken_for_stored_by_the_number_that_another_step_has_there(
    tmp_path: Path,
) -> None:
    with postgres() as primary:
        address = primary.database()
        with standby(primary) as follower:
            async with open_way(primary.port) as way:
                gateway = Database(address.replace(f":{primary.port}/", f":{way.port}/"), tmp_path / "journal")
                async with opened(gateway) as journal, trio.open_nursery() as nursery:
                    before = await accepted(journal, "before")
                    # Nothing reaches the standby from here on, and nobody is told that anything is stored.
                    follower.sql("ALTER SYSTEM SET primary_conninfo = ''")
                    follower.sql("SELECT pg_reload_conf()")
                    ended, stored, why = trio.Event(), list[Accepted](), list[str]()

                    async def say() -> None:
                        # Made again where the number is nobody's, or whoever asks is told that nobody knows.
                        try:
                            stored.append(await accepted(journal, "during"))
                        except StoreFailed as error:
                            why.append(str(error))
                        ended.set()

                    nursery.start_soon(say)
                    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                    while await trio.to_thread.run_sync(primary.sql, waits) == "0\n":
                        await trio.sleep(0.02)
                    way.silence()
                    await trio.to_thread.run_sync(primary.stop, "immediate")
                    await trio.to_thread.run_sync(follower.promote)
                    way.target = follower.port
                    # Others are there first.
                    for _ in range(30):
                        follower.sql("SELECT pg_current_xact_id()")
                    way.reopen()
                    await way.cut()
                    await ended.wait()
                    assert stored or "nobody knows" in why[0]
                    assert (await accepted(journal, "during")).known == bool(stored)
                    assert (await accepted(journal, "before")) == Accepted(before.id, before.conversation, known=True)


async def test_a_database_that_says_nothing_is_not_waited_for_without_an_end(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookgate.store.postgres.engine.AWAY_S", 0.0)
    monkeypatch.setattr("hookgate.store.postgres.waiting.CONNECT_S", 0.1)
    with trio.fail_after(DEADLINE_S):
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listeners[0].socket.getsockname()[1]
        with pytest.raises(StoreFailed, match="no connection within"):
            async with opened(Database(f"postgresql://ann@127.0.0.1:{port}/d", tmp_path / "journal")):
                pass
        for it in listeners:
            await it.aclose()


@pytest.mark.parametrize("text", ["a\0b", "a\\u0000b", "a\\\\u0000b", "\0\0", "\\\0"])
async def test_a_message_with_a_zero_in_it_is_stored_found_and_answered_as_any_other(
    database: Database, text: str
) -> None:
    async with opened(database) as journal:
        await accepted(journal, text)
        claim = await journal.work.claim("g", 60)
        assert claim is not None
        assert claim.inbound is not None
        assert claim.inbound.text == text
        await journal.work.complete(claim, "answered", (), [Outbound(Chat("test", "1"), text)])
        (row,) = await journal.posting.outgoing("test")
        assert row.outbound.text == text
        assert len(await journal.chats.listed("test:", "a" if "a" in text else "")) == 1


# --- a gateway ----------------------------------------------------------------------------------------------


async def test_a_gateway_has_its_conversations_there_and_goes_on_with_them_elsewhere(
    server: Server, tmp_path: Path
) -> None:
    address = server.database()
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "hookgate.toml").write_text(WEB.format(address))
        (folder / "script.json").write_text('{"steps": [{"text": "Hello."}]}')
    with trio.fail_after(2 * DEADLINE_S):
        async with serving(tmp_path / "here") as (process, page), serving(tmp_path / "there") as (other, second):
            await page.post("/api/chats/c1/messages", json=says("hi"))
            for it in (page, second):
                seen = await until(it, "/api/chats/c1", lambda it: len(it["messages"]) == 2)
                assert [it["text"] for it in seen["messages"]] == ["hi", "Hello."]
            process.kill()
            await second.post("/api/chats/c1/messages", json=says("and there"))
            await until(second, "/api/chats/c1", lambda it: len(it["messages"]) == 4)
            refused = await run(tmp_path / "here", "people", "add", "eve", "web:eve")
            assert (refused.returncode, b"in use by another hookgate" in refused.stderr) == (1, True)
            other.terminate()
        here = tmp_path / "here"
        for command, says_ in (
            (("sessions", "list"), b"4 messages"),
            (("store", "check"), b"is whole: 1 conversation, 2 messages (0 unfinished)"),
            (("where", "M1"), b"is delivered: hi"),
            (("audit", "verify"), b"intact"),
            (("people", "add", "bob", "web:bob"), b"bob: web:bob"),
            (("people", "list"), b"web:bob"),
        ):
            ended = await run(here, *command)
            assert says_ in ended.stdout, (command, ended.stdout, ended.stderr)
        ended = await run(here, "store", "backup", "copy.db")
        assert (ended.returncode, b"pg_dump" in ended.stderr) == (1, True)


async def test_health_says_that_the_store_is_well(server: Server, tmp_path: Path) -> None:
    settings = configured(tmp_path, "").config
    file = tmp_path / "hookgate.toml"
    file.write_text(file.read_text().replace("[store]", f'[store]\nurl = "{server.database()}"'))
    assert settings.store.url == ""
    from hookgate.assembly.settings import Settings

    config, _file = load_config(file)
    async with open_served(Settings(config, tmp_path, file, serving=True)) as served:
        assert (await get(served, "/ready"))[1]["store"] == "ok"
