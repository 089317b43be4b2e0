"""What can go wrong with a journal's file: each has a name and a line, and what is acknowledged is stored."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import trio

from hookgate.protocol.catalog import StoreBusy, StoreCorrupt, StoreFailed, StoreReadOnly, StoreTooNew
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.journal.values import Accepted, Arrival, Draft
from hookgate.protocol.values import Message
from hookgate.store.journal import StoredJournal, open_journal
from hookgate.store.journal.engine import place
from hookgate.store.journal.engine.clock import Clock
from tests.store.test_store_faults import WITHOUT_RIGHTS, digest, held, neighbours, put, run

CHAT = Chat("test", "1")


def arrival(key: str, chat: Chat = CHAT) -> Arrival:
    return Arrival(Inbound(chat, f"text {key}"), "agent", key)


async def accept(journal: StoredJournal, key: str) -> Accepted:
    return await journal.intake.accept(arrival(key))


async def make(file: Path, count: int = 1) -> None:
    async with open_journal(file) as journal:
        for number in range(count):
            await accept(journal, f"k{number}")


async def refused(file: Path) -> str:
    """The line with which it is, in which the file is named once."""
    with pytest.raises(StoreFailed) as raised:
        async with open_journal(file):
            pass
    line = str(raised.value)
    assert line.startswith(f"{file} ")
    assert line.count(str(file)) == 1
    return line.removeprefix(f"{file} ")


# --- whose it is --------------------------------------------------------------------------------------------


async def test_file_folder_and_lock_are_their_owners_alone(file: Path) -> None:
    async with open_journal(file):
        modes = {it.name: it.stat().st_mode & 0o777 for it in file.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert modes.keys() >= {"hookgate.db", "hookgate.db-wal", "hookgate.db.lock"}
    assert file.parent.stat().st_mode & 0o777 == 0o700


async def test_a_second_gateway_is_refused_by_the_first_ones_process_and_another_by_any_name(file: Path) -> None:
    link = file.parent.with_name("link")
    async with open_journal(file) as journal:
        link.symlink_to(file.parent)
        for name in (file, link / file.name):
            with pytest.raises(StoreBusy, match=rf"is in use by another hookgate \(process {os.getpid()}\)"):
                async with open_journal(name):
                    pass
        program = [sys.executable, "-m", "tests.store.journal_writer", str(file), "power", "x"]
        ended = await run(program)
        assert "is in use by another hookgate" in ended.stderr.splitlines()[-1]
        await accept(journal, "k")


async def test_what_a_gateway_has_started_does_not_keep_its_journal(file: Path) -> None:
    async with open_journal(file):
        started = await trio.lowlevel.open_process(["sleep", "600"])
    try:
        async with open_journal(file):
            pass
        assert started.poll() is None
    finally:
        started.kill()
        await started.wait()


# --- files that are none ------------------------------------------------------------------------------------


def _foreign(file: Path) -> None:
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE songs (title)")


def _catalog(file: Path) -> None:
    with closing(sqlite3.connect(file)) as other:
        other.execute(f"PRAGMA application_id = {0x686F6F6B}")


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda it: it.write_bytes(b""), "is empty, which a journal never is; it was left as it is"),
    "text": (lambda it: it.write_bytes(b"not a database " * 300), "is damaged or no database"),
    "header": (lambda it: it.write_bytes(b"SQLite format 3\0" + b"\xff" * 9000), "is damaged or no database"),
    "foreign": (_foreign, "is the database of another program"),
    "catalog": (_catalog, "is the database of another program"),
}


@pytest.mark.parametrize("name", FILES)
async def test_a_file_that_is_no_journal_is_named_and_left_as_it_is(file: Path, name: str) -> None:
    write, said = FILES[name]
    file.parent.mkdir()
    write(file)
    before = digest(file)
    assert said in await refused(file)
    assert digest(file) == before
    assert {it.name for it in file.parent.iterdir()} <= {file.name, f"{file.name}.lock"}


async def test_a_journal_that_was_cut_short_is_refused_and_left_as_it_is(file: Path) -> None:
    await make(file, 50)
    half = held(file)[: 20 * 4096]
    put(file, half)
    assert "is damaged" in await refused(file)
    assert held(file) == half


async def test_a_damaged_page_fails_what_needs_it_and_nothing_else(file: Path) -> None:
    async with open_journal(file) as journal:
        for number in range(60):
            accepted = await accept(journal, f"k{number}")
            claim = await journal.work.claim("g", 60, accepted.conversation, accepted.id)
            assert claim is not None
            await journal.work.complete(claim, "answered", [Draft(Message("user", "x" * 4000))])
        conversation = accepted.conversation
    damaged = bytearray(held(file))
    at = damaged.rindex(b"x" * 3000) // 4096 * 4096
    damaged[at : at + 4096] = b"\xa5" * 4096
    put(file, damaged)
    async with open_journal(file) as journal:
        with pytest.raises(StoreCorrupt, match=str(file)):
            await journal.work.load(conversation)
        assert (await accept(journal, "another")).id == "M61"


async def test_a_journal_of_a_newer_hookgate_is_not_touched(file: Path) -> None:
    await make(file)
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA user_version = 99")
    before = digest(file)
    with pytest.raises(StoreTooNew, match="has version 99, made by a newer hookgate; this one knows "):
        async with open_journal(file):
            pass
    assert digest(file) == before


async def test_a_row_of_a_newer_hookgate_is_named(file: Path) -> None:
    await make(file)
    with closing(sqlite3.connect(file)) as other:
        other.execute("UPDATE messages SET format = 2")
        other.commit()
    async with open_journal(file) as journal:
        with pytest.raises(StoreTooNew, match=f"^{file} holds rows of format 2, made by a newer hookgate"):
            await journal.work.claim("g", 60)
        await accept(journal, "new")


async def test_a_result_of_an_older_hookgate_has_failed_where_its_text_says_so(file: Path) -> None:
    async with open_journal(file) as journal:
        conversation = (await accept(journal, "k")).conversation
        claim = await journal.work.claim("g", 60)
        assert claim is not None
        texts = ("ERROR (not_found) ls: no such folder", "a.txt")
        await journal.work.append(claim, [Draft(Message("tool", it, tool_call_id="c")) for it in texts])
    with closing(sqlite3.connect(file)) as other:
        other.execute("UPDATE entries SET body = CAST(json_remove(body, '$.message.is_error') AS BLOB)")
        other.commit()
        assert other.execute("SELECT count(*) FROM entries WHERE body LIKE '%is_error%'").fetchone() == (0,)
    async with open_journal(file) as journal:
        entries = (await journal.work.load(conversation)).entries
        assert [it.message.is_error for it in entries] == [True, False]


async def test_a_log_without_its_journal_is_not_taken_for_another_ones(file: Path) -> None:
    file.parent.mkdir()
    log = Path(f"{file}-wal")
    put(log, b"what was written last")
    assert "is missing, but its log (-wal) is there" in await refused(file)
    assert held(log) == b"what was written last"
    assert log in neighbours(file)
    assert file not in neighbours(file)


async def test_a_journal_that_was_being_made_when_the_process_died_is_made_anew(file: Path) -> None:
    for end in (".new", ".new-wal"):
        put(Path(f"{file}{end}"), b"half")
    await make(file)
    assert not [it for it in neighbours(file) if ".new" in it.name]


READ_ONLY = """
import sys, trio
from pathlib import Path
from hookgate.protocol.catalog import StoreReadOnly
from hookgate.store.journal import open_journal

async def main(file):
    try:
        async with open_journal(file):
            print("opened")
    except StoreReadOnly as error:
        print(error)

trio.run(main, Path(sys.argv[1]))
"""


@pytest.mark.parametrize("there", ["nothing", "journal", "read-only journal"])
async def test_a_folder_that_cannot_be_written_is_named(file: Path, there: str) -> None:
    file.parent.mkdir()
    if there != "nothing":
        await make(file)
    if there == "read-only journal":
        os.chmod(file, 0o400)
        if os.getuid() == 0:
            os.chown(file, 1, 1)
    else:
        os.chmod(file.parent, 0o500)
    ended = await run([sys.executable, "-c", WITHOUT_RIGHTS, "-c", READ_ONLY, str(file)])
    os.chmod(file.parent, 0o700)
    assert ended.stderr == ""
    assert ended.stdout.startswith(f"{file}"), ended.stdout
    assert " cannot be " in ended.stdout
    assert len(ended.stdout.splitlines()) == 1


async def test_a_place_that_is_a_folder_or_has_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    for at in (tmp_path, tmp_path / "plain" / "journal.db"):
        with pytest.raises((StoreReadOnly, StoreFailed), match=str(tmp_path)):
            async with open_journal(at):
                pass


# --- where it lies ------------------------------------------------------------------------------------------

MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /home rw,relatime shared:1 - nfs4 server:/home rw
31 30 254:1 / /home/ann/local\\040disk rw - xfs /dev/vdb rw
32 22 0:41 / /mnt rw - tmpfs tmpfs rw
33 32 0:42 / /mnt rw - fuse.sshfs ann@host: rw
a line of another kind
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/lib", "ext4"),
        ("/home/ann/state", "nfs4"),
        ("/home/ann/local disk/state", "xfs"),
        ("/mnt/x", "fuse.sshfs"),
        ("/mntx", "ext4"),
    ],
)
def test_the_file_system_of_a_folder_is_that_of_its_last_and_longest_mount(folder: str, kind: str) -> None:
    assert place.file_system(Path(folder), MOUNTS) == kind


async def test_a_network_file_system_is_refused(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mounts").write_text(f"30 22 0:40 / {tmp_path} rw - nfs4 server:/home rw\n")
    monkeypatch.setattr(place, "MOUNTS", tmp_path / "mounts")
    assert "lies on a network file system (nfs4)" in await refused(file)
    assert list(file.parent.iterdir()) == []


# --- a full disk --------------------------------------------------------------------------------------------

FILL = """
import os, resource, sys, trio
from pathlib import Path
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.journal.values import Arrival
from hookgate.protocol.chat import Chat, Inbound
from hookgate.store.journal import open_journal

def arrival(key):
    return Arrival(Inbound(Chat("test", "1"), "x" * 3000), "agent", str(key))

async def main(file):
    ballast = file.parent.parent / "ballast"
    {begin}
    stored, failed = [], []
    async with open_journal(file) as journal:
        async def fill(first):
            for number in range(first, 100_000, 8):
                try:
                    stored.append((number, (await journal.intake.accept(arrival(number))).id))
                except StoreFailed as error:
                    return failed.append((number, error))
        async with trio.open_nursery() as nursery:
            for first in range(8):
                nursery.start_soon(fill, first)
        print(len(failed), {type(error).__name__ for _number, error in failed})
        # Those that were there can be read while the disk is full.
        assert len((await journal.books.where(stored[0][1]))[0].passages) == 1
        {end}
        again = await journal.intake.accept(arrival("new"))
        assert not again.known
        stored.append(("new", again.id))
    async with open_journal(file) as journal:
        for number, id_ in stored:
            accepted = await journal.intake.accept(arrival(number))
            assert (accepted.id, accepted.known) == (id_, True), (number, id_, accepted)
        for number, _error in failed:
            assert not (await journal.intake.accept(arrival(number))).known
    print("all there")

trio.run(main, Path(sys.argv[1]))
"""


@pytest.mark.needs("bwrap")
async def test_a_full_disk_loses_nothing_that_was_acknowledged_and_ends_when_there_is_room() -> None:
    program = FILL.replace("{begin}", 'ballast.write_bytes(b"x" * 3_000_000)').replace("{end}", "ballast.unlink()")
    walls = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--size", "5000000", "--tmpfs", "/mnt"]
    ended = await run([*walls, sys.executable, "-c", program, "/mnt/s/journal.db"])
    assert (ended.stdout, ended.stderr) == ("8 {'StoreFull'}\nall there\n", "")


async def test_a_limit_on_the_files_size_loses_nothing_that_was_acknowledged(file: Path) -> None:
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, ({}, resource.RLIM_INFINITY))"
    program = FILL.replace("{begin}", limit.format(500_000)).replace("{end}", limit.format("resource.RLIM_INFINITY"))
    ended = await run([sys.executable, "-c", program, str(file)])
    assert (ended.stdout, ended.stderr) == ("8 {'StoreFailed'}\nall there\n", "")


# --- one thread for many tasks ------------------------------------------------------------------------------


async def test_what_is_cancelled_was_stored_or_not_and_the_caller_can_tell(file: Path) -> None:
    stored, cancelled = list[str](), list[str]()

    async def try_to(journal: StoredJournal, number: int) -> None:
        with trio.CancelScope() as scope:
            if number % 3 == 0:
                scope.cancel()
            # Each fifth is left alone: on a slow disk all others may be too late.
            if number % 5:
                nursery.start_soon(cancel_soon, scope, number % 7)
            await accept(journal, f"k{number}")
            stored.append(f"k{number}")
            return
        cancelled.append(f"k{number}")

    async def cancel_soon(scope: trio.CancelScope, steps: int) -> None:
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        scope.cancel()

    async with open_journal(file) as journal:
        async with trio.open_nursery() as nursery:
            for number in range(300):
                nursery.start_soon(try_to, journal, number)
        assert stored
        assert cancelled
        known = {key: (await accept(journal, key)).known for key in (*stored, *cancelled)}
    assert {key for key, there in known.items() if there} == set(stored)


async def test_one_call_that_fails_takes_nothing_from_the_others_of_its_group(file: Path) -> None:
    accepted, failed = list[str](), list[int]()

    async def try_to(journal: StoredJournal, number: int) -> None:
        # No database holds half a character: it fails after its key has been written.
        chat = Chat("test", "\udc80" if number % 10 == 0 else str(number))
        try:
            accepted.append((await journal.intake.accept(arrival(f"k{number}", chat))).id)
        except UnicodeEncodeError:
            failed.append(number)

    async with open_journal(file) as journal:
        async with trio.open_nursery() as nursery:
            for number in range(100):
                nursery.start_soon(try_to, journal, number)
        assert (len(accepted), len(set(accepted)), sorted(failed)) == (90, 90, list(range(0, 100, 10)))
        assert len(await journal.books.sessions()) == 90


async def test_a_file_that_another_program_holds_blocks_nobody_else_and_fails_by_name(file: Path) -> None:
    async with open_journal(file) as journal:
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            steps = 0
            async with trio.open_nursery() as nursery:

                async def look() -> None:
                    nonlocal steps
                    while True:
                        await journal.books.where("M1")
                        steps += 1

                nursery.start_soon(look)
                with pytest.raises(StoreBusy, match=f"{file} is locked by another process"):
                    await accept(journal, "k1")
                nursery.cancel_scope.cancel()
            assert steps > 10
            other.execute("ROLLBACK")
        assert (await accept(journal, "k1")).id == "M1"


async def test_nothing_is_asked_of_a_journal_that_is_closed(file: Path) -> None:
    async with open_journal(file) as journal:
        await accept(journal, "k1")
    with pytest.raises(StoreFailed, match="is closed"):
        await accept(journal, "k2")


# --- clocks -------------------------------------------------------------------------------------------------


def test_a_clock_that_jumps_back_neither_takes_the_time_back_nor_stops_it() -> None:
    wall = iter([1000.0, 5000.0, 100.0, 100.0, 6000.0])
    clock = Clock(lambda: next(wall))
    first, second, third, fourth, fifth = (clock() for _ in range(5))
    assert (first, second) == (1000.0, 5000.0)
    assert 5000.0 <= third < fourth < 5001.0
    assert fifth == 6000.0


async def test_a_row_that_waits_is_sent_in_its_time_whatever_the_clock_does(file: Path) -> None:
    now = 10_000.0
    async with open_journal(file, wall=lambda: now) as journal:
        accepted = await accept(journal, "k1")
        await journal.intake.settle(accepted.id, "refused", [Outbound(CHAT, "no")])
        (row,) = await journal.posting.outgoing("test")
        await journal.posting.failed(row.id, "429", now + 0.2)
        now = 10.0
        assert await journal.posting.outgoing("test") == ()
        with trio.fail_after(30):
            while not await journal.posting.outgoing("test"):
                await trio.lowlevel.checkpoint()
    async with open_journal(file, wall=lambda: now) as journal:
        again = await accept(journal, "k2")
        assert (await journal.books.where(again.id))[0].passages[0].at >= 10_000.0
