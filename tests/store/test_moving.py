"""A journal that is carried over, from a file to PostgreSQL and back: what arrives, what was broken off, what is
refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.codec import encode
from hookgate.store import moving
from hookgate.store.journal.audit.anchors import verify
from hookgate.store.journal.operators.looking import exported
from hookgate.store.moving import is_half, move
from hookgate.store.places import Database, JournalPlace, open_journal_at, open_look_at
from tests.cli.program import run
from tests.postgres import Server
from tests.store.journals import CARL, fill

DEADLINE_S = 60.0


@pytest.fixture
def database(server: Server, tmp_path: Path) -> Database:
    return Database(server.database(), tmp_path / "journal.db")


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    await fill(tmp_path / "journal.db")
    return tmp_path / "journal.db"


def lines(place: JournalPlace) -> list[bytes]:
    with open_look_at(place) as tables:
        return [encode(line) for line in exported(tables)]


async def moved(source: JournalPlace, target: JournalPlace) -> list[str]:
    said = list[str]()
    with trio.fail_after(DEADLINE_S):
        async with open_journal_at(source) as old, open_journal_at(target) as new:
            await move(old, new, said.append)
    return said


async def test_all_of_it_arrives_goes_on_and_comes_back(file: Path, database: Database, tmp_path: Path) -> None:
    said = await moved(file, database)
    assert "messages: 2 carried over" in said
    assert lines(database) == lines(file)
    with open_look_at(database) as tables:
        assert verify(file, tables).state == "anchored"
    async with open_journal_at(database) as journal:
        claim = await journal.work.claim("g", 60)
        assert claim is not None
        assert claim.conversation == CARL
        await journal.work.complete(claim, "answered")
    back = tmp_path / "back.db"
    await moved(database, back)
    assert lines(back) == lines(database) != lines(file)


@pytest.mark.parametrize("after", [1, 5, 9])
async def test_what_was_broken_off_is_taken_up_by_nobody_and_goes_on_where_it_was(
    file: Path, database: Database, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr(moving, "PIECE", 1)
    pieces = 0

    def broken_off(_line: str) -> None:
        nonlocal pieces
        pieces += 1
        if pieces == after:
            raise KeyboardInterrupt

    with pytest.RaisesGroup(KeyboardInterrupt, allow_unwrapped=True, flatten_subgroups=True):
        async with open_journal_at(file) as old, open_journal_at(database) as new:
            await move(old, new, broken_off)
    with open_look_at(database) as tables:
        assert is_half(tables)
    folder = file.parent
    (folder / "hookgate.toml").write_text(f'[store]\njournal = "{file}"\nurl = "{database.address}"\n')
    ended = await run(folder, "serve")
    assert (ended.returncode, b"holds the half of a journal" in ended.stderr) == (1, True), ended.stderr
    await moved(file, database)
    assert lines(database) == lines(file)


async def test_a_journal_that_is_used_is_not_written_over_and_a_difference_is_found(
    file: Path, database: Database, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.RaisesGroup(
        pytest.RaisesExc(StoreFailed, match="there are conversations in it already"),
        allow_unwrapped=True,
        flatten_subgroups=True,
    ):
        await fill(tmp_path / "other.db")
        await moved(file, tmp_path / "other.db")
    end = moving._digest

    async def changed(journal: object, table: object) -> object:
        server.sql("UPDATE hookgate.passages SET why = 'changed'", database.address)
        return await end(journal, table)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(moving, "_digest", changed)
    with pytest.RaisesGroup(
        pytest.RaisesExc(StoreFailed, match="passages is not the same in both"),
        allow_unwrapped=True,
        flatten_subgroups=True,
    ):
        await moved(file, database)


async def test_the_command_says_what_it_did_and_what_to_write_now(file: Path, database: Database) -> None:
    folder = file.parent
    (folder / "hookgate.toml").write_text(f'[store]\njournal = "{file}"\n')
    ended = await run(folder, "store", "migrate", "--to", database.address)
    assert (ended.returncode, ended.stderr) == (0, b"")
    *_, compared, files, now = ended.stdout.decode().splitlines()
    assert compared.endswith("are the same in both, by their SHA-256.")
    assert files.startswith("Files of messages stay where they are: in /")
    assert f'Now write url = "{database.address}" below [store].' in now
    ended = await run(folder, "store", "migrate", "--to", "postgresql://ann:secret@127.0.0.1/d")
    assert (ended.returncode != 0, b"it holds a password" in ended.stderr, b"secret" in ended.stderr) == (
        True,
        True,
        False,
    )
    ended = await run(folder, "store", "migrate", "--to", str(file))
    assert b"the journal lies there already" in ended.stderr
