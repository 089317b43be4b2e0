"""What two gateways say and do where their database has no room left: on its disk, or in its queue of notes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from secrets import token_hex

import httpx
import psycopg
import pytest
import trio
from psycopg import errors
from structlog.testing import capture_logs

from hookgate.channels.web.access.passwords import hashed
from hookgate.protocol.catalog import StoreFull
from hookgate.protocol.journal.cluster import WORK
from hookgate.protocol.journal.values import Accepted
from hookgate.serve.run import Served
from hookgate.store.journal.opening import StoredJournal
from hookgate.store.places import Database
from tests.channels.openai.serving_api import add_key
from tests.postgres import NOBODY, Server, postgres, programs
from tests.serve.several import open_several, sharing
from tests.store.postgres.test_cluster import heard, said, several

DISK_BYTES, ROOM_BYTES, LITTLE_BYTES = 40_000_000, 3_000_000, 200_000
CHANNELS = f"""
[channels.web]
kind = "web"
users = {{ ann = "{hashed("right", 8)}" }}
[channels.api]
kind = "openai"
[tools]
sandbox = "off"
"""
SCRIPT = '{"steps": [{"when": "(?s).", "text": "Hello."}]}'
FULL = "too many notifications in the NOTIFY queue"


@pytest.fixture
def small_disk() -> Generator[Path]:
    if programs() is None:
        pytest.skip("this machine has no PostgreSQL server")
    if os.geteuid() != 0:
        pytest.skip("a small disk for the database is mounted by root alone")
    folder = Path(tempfile.mkdtemp(prefix="hookgate-disk-"))
    options = f"size={DISK_BYTES},uid={NOBODY},gid={NOBODY},mode=700"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "none", folder], check=False, capture_output=True
    )
    if mounted.returncode:
        folder.rmdir()
        pytest.skip(f"this machine mounts nothing: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)
    folder.rmdir()


@pytest.fixture
def small_queue() -> Generator[Server]:
    found = programs()
    if found is None:
        pytest.skip("this machine has no PostgreSQL server")
    version = subprocess.run([found / "postgres", "--version"], check=True, capture_output=True, text=True).stdout
    if int((re.findall(r"\d+", version) or "0")[0]) < 17:
        pytest.skip("max_notify_queue_pages came with PostgreSQL 17: before, the queue is full with 8 GB")
    with postgres("max_notify_queue_pages = 64") as server:
        yield server


async def test_on_a_full_disk_nothing_is_acknowledged_at_either_gateway_and_both_go_on_when_there_is_room(
    small_disk: Path, tmp_path: Path
) -> None:
    stored, lost = dict[str, Accepted](), list[str]()

    async def fill(journal: StoredJournal, who: str) -> None:
        for number in range(100_000):
            text = f"{who} {number} {token_hex(20_000)}"
            try:
                stored[text] = await said(journal, "1", text)
            except StoreFull:
                return lost.append(text)

    with postgres() as server:
        server.sql(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
        server.sql("CREATE DATABASE d TABLESPACE small")
        async with several(Database(server.address("d"), tmp_path / "journal")) as (one, two):
            ballast = small_disk / "ballast"
            ballast.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - ROOM_BYTES))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(fill, one, "one")
                nursery.start_soon(fill, two, "two")
            assert (len(lost), len(stored) > 10) == (2, True)
            ballast.unlink()
            first = [await said(one, "1", text) for text in lost]
            again = [await said(two, "1", text) for text in (*stored, *lost)]
            assert not any(it.known for it in first)
            assert all(it.known for it in again)
            assert [it.id for it in again] == [it.id for it in (*stored.values(), *first)]


@asynccontextmanager
async def clients(served: Served) -> AsyncGenerator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """Ann at the page, and a program with a key."""
    async with (
        httpx.AsyncClient(base_url=f"http://{served.address}", timeout=30) as page,
        httpx.AsyncClient(base_url=f"http://{served.address}", timeout=30) as program,
    ):
        assert (await page.post("/api/login", json={"user": "ann", "password": "right"})).status_code == 204
        page.headers["x-csrf-token"] = (await page.get("/api/me")).json()["csrf"]
        program.headers["authorization"] = f"Bearer {await add_key(served, token_hex(4))}"
        yield page, program


async def test_who_asks_a_gateway_whose_database_has_a_full_disk_is_told_so_and_is_answered_once_there_is_room(
    small_disk: Path, tmp_path: Path
) -> None:
    taken, refused = dict[str, httpx.AsyncClient](), dict[str, httpx.AsyncClient]()

    async def send(page: httpx.AsyncClient, key: str) -> httpx.Response:
        return await page.post("/api/chats/c1/messages", json={"key": key, "text": token_hex(10_000)})

    async def fill(page: httpx.AsyncClient, who: str) -> None:
        for number in range(100_000):
            answer = await send(page, key := f"{who}-{number}")
            if answer.status_code == 503:
                assert answer.json() == {"error": "not stored: the gateway's disk is full"}
                refused[key] = page
                return
            assert answer.status_code == 202, answer.text
            taken[key] = page

    with postgres() as server:
        server.sql(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
        server.sql("CREATE DATABASE d TABLESPACE small")
        settings = (sharing(tmp_path / who, server.address("d"), CHANNELS, SCRIPT) for who in ("one", "two"))
        async with (
            open_several(*settings) as (one, two),
            clients(one) as (ann, program),
            clients(two) as (her, _),
        ):
            ballast = small_disk / "ballast"
            ballast.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - LITTLE_BYTES))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(fill, ann, "one")
                nursery.start_soon(fill, her, "two")
            asked = {"model": "main", "messages": [{"role": "user", "content": token_hex(10_000)}]}
            answer = await program.post("/v1/chat/completions", json=asked)
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not_stored")
            ballast.unlink()
            for key, page in refused.items():
                assert (await send(page, key)).json()["known"] is False
            for key, page in taken.items():
                assert (await send(page, key)).json()["known"] is True
            answer = await program.post("/v1/chat/completions", json=asked)
            assert answer.json()["choices"][0]["message"]["content"] == "Hello."
            answered = "SELECT count(*) FROM hookgate.messages WHERE outcome = 'answered'"
            while int(server.sql(answered, server.address("d"))) < len(taken) + len(refused) + 1:
                await trio.sleep(0.1)


async def test_what_a_full_queue_does_not_take_is_found_and_told_again_once_there_is_room(
    small_queue: Server, tmp_path: Path
) -> None:
    address = small_queue.database()
    async with several(Database(address, tmp_path / "journal")) as (one, two):
        inbox = await heard(one, WORK)
        await said(one, "1", "first")
        with psycopg.connect(address) as holds, psycopg.connect(address, autocommit=True) as fills:
            holds.execute("LISTEN nothing")
            holds.commit()
            # In a transaction it hears nothing, and whatever comes is kept for it.
            holds.execute("SELECT")
            with suppress(errors.ProgramLimitExceeded):
                for number in range(10_000):
                    fills.execute("SELECT pg_notify('filler', %s)", [f"{number}{'x' * 7000}"])
            with capture_logs() as logs:
                assert (await said(two, "1", "second")).elsewhere
                while not any(it["event"] == "others_not_told" and FULL in it["reason"] for it in logs):
                    await trio.sleep(0.02)
            while len(await one.intake.unfinished(session="test:1")) < 2:
                await trio.sleep(0.02)
            assert inbox.statistics().current_buffer_used == 0
        assert (await inbox.receive()).session == "test:1"
        assert (await said(two, "1", "third")).elsewhere
        await inbox.receive()
