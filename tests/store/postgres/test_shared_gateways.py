"""What gateways on one database have in common besides conversations: files of messages, people, keys, logins, and
what channels remember."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from hookgate.approvals.people import People
from hookgate.channels.http.keys import Keys
from hookgate.channels.slack.threads import Threads
from hookgate.channels.telegram.moves import Moves
from hookgate.channels.web.access.logins import Logins
from hookgate.channels.web.settings import WebSettings
from hookgate.loop.doors.guests import Guests
from hookgate.protocol.approval import Voter
from hookgate.protocol.chat import Chat
from hookgate.protocol.chat.media import MediaFull
from hookgate.store.journal.opening import StoredJournal
from hookgate.store.media import FileMedia, MediaLimits
from hookgate.store.places import Database, media_beside
from hookgate.store.postgres import open_postgres_journal
from tests.postgres import Server

DEADLINE_S = 60.0


@asynccontextmanager
async def two(server: Server, folder: Path) -> AsyncGenerator[tuple[StoredJournal, StoredJournal]]:
    database = Database(server.database(), folder / "journal")
    with trio.fail_after(DEADLINE_S):
        async with (
            open_postgres_journal(database, shared=True) as one,
            open_postgres_journal(database, shared=True) as other,
        ):
            while min(len(it.cluster.members) for it in (one, other)) < 2:
                await trio.sleep(0.02)
            yield one, other


async def until(wanted: Callable[[], object]) -> None:
    while not wanted():
        await trio.sleep(0.02)


async def test_a_file_that_came_in_at_one_is_read_at_another_and_lies_on_its_disk_then(
    server: Server, tmp_path: Path
) -> None:
    async with two(server, tmp_path) as (one, other):
        here = media_beside(one, FileMedia(tmp_path / "here"))
        there = media_beside(other, FileMedia(tmp_path / "there"))
        reference = await here.keep(b"what ann has written", "ann")
        assert await there.is_of(reference.digest, "ann")
        assert not await there.is_of(reference.digest, "bob")
        assert await there.size(reference.digest) == 20
        assert (tmp_path / "there" / reference.digest[:2] / reference.digest).read_bytes() == b"what ann has written"
        assert await there.read(reference.digest) == ("text/plain", b"what ann has written")
        assert await there.read("0" * 64) is None


async def test_files_in_the_database_are_bounded_and_go_when_nobody_has_used_them(
    server: Server, tmp_path: Path
) -> None:
    async with two(server, tmp_path) as (one, other):
        limits = MediaLimits(quota=100, user_quota=50, lifetime_s=1000)
        here = media_beside(one, FileMedia(tmp_path / "here", limits))
        there = media_beside(other, FileMedia(tmp_path / "there", limits))
        first = await here.keep(b"a" * 40, "ann")
        with pytest.raises(MediaFull, match="that one person may"):
            await there.keep(b"b" * 20, "ann")
        await there.keep(b"c" * 45, "bob")
        with pytest.raises(MediaFull, match="no room"):
            await there.keep(b"d" * 30, "eve")
        await one.engine.write(lambda tables: tables.run("UPDATE media SET used = 0 WHERE digest = ?", first.digest))
        await there.keep(b"e" * 20, "ann")
        fresh = media_beside(one, FileMedia(tmp_path / "fresh", limits))
        assert await fresh.read(first.digest) is None


async def test_who_is_let_in_and_which_keys_count_is_known_everywhere_at_once(server: Server, tmp_path: Path) -> None:
    async with two(server, tmp_path) as (one, other):
        told = list[People]()
        guests, others = Guests(one, []), Guests(other, [])
        others.tell = told.append
        await guests.add("eve", [Voter("tg", "9")], (), "operator")
        await until(lambda: any(it.name == "eve" for it in others.listed()) and told)
        await guests.remove("eve", "operator")
        await until(lambda: not others.listed())
        keys, elsewhere = Keys(one), Keys(other)
        key, shown = await keys.add("v1", "ci", "operator")
        await until(lambda: elsewhere.holder(shown))
        with elsewhere.held(key) as scope:
            await keys.revoke(key, "operator")
            await trio.sleep_forever()
        assert scope.cancelled_caught
        assert elsewhere.holder(shown) is None


async def test_who_logs_in_or_out_at_one_does_so_at_all_and_none_overwrites_anothers(
    server: Server, tmp_path: Path
) -> None:
    async with two(server, tmp_path) as (one, other):
        settings = WebSettings("web", "secret", {}, "")
        here, there = Logins(settings, one), Logins(settings, other)
        first, second = await here.by_token("secret"), await there.by_token("secret")
        assert first
        assert second
        await until(lambda: there.by_cookie(first) and here.by_cookie(second))
        login = there.by_cookie(first)
        assert login is not None
        await there.end(login)
        await until(lambda: here.by_cookie(first) is None)
        assert here.by_cookie(second) is not None


async def test_threads_and_moved_groups_that_one_has_noted_the_others_know(server: Server, tmp_path: Path) -> None:
    async with two(server, tmp_path) as (one, other):
        threads, elsewhere = Threads("slack", one), Threads("slack", other)
        await threads.note(Chat("slack", "C1", thread="1.0"))
        await elsewhere.note(Chat("slack", "C2", thread="2.0"))
        await until(lambda: threads.all == elsewhere.all == (("C1", "1.0"), ("C2", "2.0")))
        moves, others = Moves("tg", one), Moves("tg", other)
        await moves.note(-1, -1001)
        await others.note(-2, -1002)
        await until(lambda: (moves.current("-2"), others.current("-1")) == (-1002, -1001))


async def test_what_is_made_at_a_first_start_is_the_same_for_both(server: Server, tmp_path: Path) -> None:
    async with two(server, tmp_path) as (one, other):
        made = dict[str, str]()

        async def make(journal: StoredJournal, own: str) -> None:
            made[own] = await journal.holds.change_state("web", "token", lambda known: known or own)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(make, one, "a")
            nursery.start_soon(make, other, "b")
        assert made["a"] == made["b"]
