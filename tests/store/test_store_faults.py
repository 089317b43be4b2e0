"""What can go wrong with a real file: each fault has a name and a plain line, and changes neither file nor memory."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from hookgate.protocol.catalog import (
    Seen,
    ServerRow,
    StoreBusy,
    StoreChanged,
    StoreCorrupt,
    StoreFailed,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    ToolRow,
)
from hookgate.store import Without, open_catalog, open_store
from hookgate.store import store as store_module
from hookgate.store.migrations import MIGRATIONS

ROOT = Path(__file__).parents[2]
TOOL = ToolRow("t", "process", {}, "/tools/t/tool.py", "ab", "model")

LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(file: Path) -> Generator[None]:
    with subprocess.Popen([sys.executable, "-c", LOCK, file], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        yield
        process.kill()


@pytest.fixture
async def locked(file: Path) -> AsyncGenerator[None]:
    """Another process holds the file, until the test is over."""
    await _make(file)
    with holder(file):
        yield


def put(file: Path, content: bytes) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)


def held(file: Path) -> bytes:
    return file.read_bytes()


def neighbours(file: Path) -> list[Path]:
    return list(file.parent.iterdir())


async def _make(file: Path, *tools: ToolRow) -> None:
    async with open_store(file) as store:
        for tool in tools:
            await store.put_tool(tool)


async def run(program: list[str]) -> subprocess.CompletedProcess[str]:
    with trio.fail_after(40):
        ended = await trio.run_process(program, capture_stdout=True, capture_stderr=True, check=False, cwd=ROOT)
    return subprocess.CompletedProcess(program, ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


async def test_a_file_that_another_process_holds_is_busy_after_two_seconds(file: Path, locked: None) -> None:
    async with open_store(file) as store:
        begun = trio.current_time()
        with pytest.raises(StoreBusy, match=f"{file} is locked by another process"):
            await store.put_tool(TOOL)
        assert trio.current_time() - begun > 1.5
        assert store.tools() == ()
        await store.refresh()


async def test_a_file_that_does_not_answer_is_given_up_and_not_written_later(
    file: Path, locked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "DEADLINE_S", 0.2)
    async with open_store(file) as store:
        with pytest.raises(StoreBusy, match=r"did not answer within 0\.2 s"):
            await store.put_tool(TOOL)
        monkeypatch.setattr(store_module, "DEADLINE_S", 5.0)
        await store.refresh()
        assert store.tools() == ()


async def test_a_busy_file_is_written_again_once_it_is_free(file: Path) -> None:
    await _make(file)
    async with open_store(file) as store:
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy):
                await store.put_tool(TOOL)
            other.execute("ROLLBACK")
        await store.put_tool(TOOL)
        assert [row.name for row in store.tools()] == ["t"]


FILL = """
import sys, trio
from pathlib import Path
from hookgate.protocol.catalog import StoreFailed, ToolRow
from hookgate.store import open_store

async def main(file):
    async with open_store(file) as store:
        try:
            for number in range(10_000):
                await store.put_tool(ToolRow(f"t{number}", "process", {"x": "y" * 4000}, "/t", "ab", "model"))
        except StoreFailed as error:
            before = store.tools()
            await store.refresh()
            assert store.tools() == before and len(before) == number, (len(before), number)
            print(type(error).__name__, error, flush=True)
    async with open_store(file) as store:
        print(len(store.tools()) == number)

{limit}
trio.run(main, Path(sys.argv[1]))
"""


@pytest.mark.needs("bwrap")
async def test_a_full_disk_is_named_and_what_was_there_stays() -> None:
    walls = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--size", "2000000", "--tmpfs", "/mnt"]
    program = [sys.executable, "-c", FILL.replace("{limit}", ""), "/mnt/s/hookgate.db"]
    ended = await run([*walls, *program])
    said = "StoreFull /mnt/s/hookgate.db cannot grow: the disk is full\nTrue\n"
    assert (ended.stdout, ended.stderr) == (said, "")


async def test_a_limit_on_the_file_s_size_is_a_failure_with_a_line(file: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))"
    program = [sys.executable, "-c", FILL.replace("{limit}", limit), str(file)]
    ended = await run(program)
    first = ended.stdout.splitlines()[0]
    assert first == f"StoreFailed {file} failed: disk I/O error"


NO_ROOM = """
import resource, sys
from pathlib import Path
from hookgate.protocol.catalog import StoreFailed
from hookgate.store.journal.engine.place import locked

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    with locked(Path(sys.argv[1])):
        print("it is locked")
except StoreFailed as error:
    print(error)
"""


async def test_a_journal_whose_lock_cannot_be_written_is_named(tmp_path: Path) -> None:
    ended = await run([sys.executable, "-c", NO_ROOM, str(tmp_path / "journal.db")])
    assert (ended.stdout, ended.stderr) == (f"{tmp_path}/journal.db cannot be made: File too large\n", "")


@pytest.mark.parametrize(
    "content",
    [b"not a database, but longer than the hundred bytes of a header" * 20, b"SQLite format 3\0" + b"\xff" * 5000],
)
async def test_a_file_that_is_no_database_is_left_as_it_is(file: Path, content: bytes) -> None:
    put(file, content)
    with pytest.raises(StoreCorrupt, match=f"{file} is damaged or no database"):
        async with open_store(file):
            pass
    assert held(file) == content
    assert neighbours(file) == [file]


async def test_a_damaged_page_is_corrupt_and_left_as_it_is(file: Path) -> None:
    await _make(file, *(replace(TOOL, name=f"t{n}", spec={"x": "y" * 3000}) for n in range(20)))
    damaged = bytearray(held(file))
    damaged[4096:40960] = b"\xa5" * (40960 - 4096)
    put(file, damaged)
    with pytest.raises(StoreCorrupt):
        async with open_store(file):
            pass
    assert held(file) == bytes(damaged)


async def test_a_truncated_file_is_corrupt(file: Path) -> None:
    await _make(file, *(replace(TOOL, name=f"t{n}", spec={"x": "y" * 3000}) for n in range(20)))
    put(file, held(file)[: 3 * 4096])
    with pytest.raises(StoreCorrupt, match="damaged"):
        async with open_store(file):
            pass


async def test_the_database_of_another_program_is_not_touched(file: Path) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE songs (title)")
    before = digest(file)
    with pytest.raises(StoreCorrupt, match="is the database of another program"):
        async with open_store(file):
            pass
    assert digest(file) == before


async def test_descriptions_without_their_revision_are_damage(file: Path) -> None:
    await _make(file, TOOL)
    with closing(sqlite3.connect(file)) as other:
        other.execute("DELETE FROM revisions")
        other.commit()
    with pytest.raises(StoreCorrupt, match="holds no revision of tool_descriptions"):
        async with open_store(file):
            pass


async def test_a_write_that_goes_by_a_row_is_refused_once_another_process_has_changed_it(file: Path) -> None:
    async with open_store(file) as ours, open_store(file) as theirs:
        seen = Seen(await ours.put_tool(TOOL))
        await theirs.put_tool(replace(TOOL, origin="operator"))
        with pytest.raises(StoreChanged, match=r"hookgate\.db holds another t by now"):
            await ours.remove_tool("t", seen=seen)
        assert ours.tools() == theirs.tools()
        await ours.put_tool(TOOL, Seen(ours.tools()[0]))


async def test_a_row_that_holds_no_json_is_named(file: Path) -> None:
    await _make(file, TOOL)
    with closing(sqlite3.connect(file)) as other:
        other.execute("UPDATE tools SET spec = '[1'")
        other.commit()
    with pytest.raises(StoreCorrupt, match=r"hookgate\.db tools/t\.spec is not JSON"):
        async with open_store(file):
            pass


async def test_a_file_of_a_newer_hookgate_is_not_touched(file: Path) -> None:
    await _make(file, TOOL)
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA user_version = 99")
    before = digest(file)
    with pytest.raises(
        StoreTooNew, match=rf"has version 99, made by a newer hookgate; this one knows {len(MIGRATIONS)}"
    ):
        async with open_store(file):
            pass
    assert digest(file) == before


READ_ONLY = """
import ctypes, sys, trio
from pathlib import Path
from hookgate.protocol.catalog import StoreReadOnly
from hookgate.store import open_store

async def main(file):
    try:
        async with open_store(file) as store:
            await store.remove_tool("x")
    except StoreReadOnly as error:
        print(error)

trio.run(main, Path(sys.argv[1]))
"""
# Root may write anywhere unless it gives the right to away, for itself and what it starts.
WITHOUT_RIGHTS = """
import ctypes, os, sys
for capability in (1, 2, 3):
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.parametrize("there", ["nothing", "file", "read-only file"])
async def test_a_folder_that_cannot_be_written_is_named(file: Path, there: str) -> None:
    file.parent.mkdir()
    if there != "nothing":
        await _make(file, TOOL)
    os.chmod(*(file, 0o400) if there == "read-only file" else (file.parent, 0o500))
    program = [sys.executable, "-c", WITHOUT_RIGHTS, "-c", READ_ONLY, str(file)]
    ended = await run(program)
    os.chmod(file.parent, 0o700)
    assert ended.stderr == ""
    assert ended.stdout.startswith(f"{file} cannot be "), ended.stdout
    assert len(ended.stdout.splitlines()) == 1


async def test_a_place_that_is_a_folder_or_has_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    for place in (tmp_path, tmp_path / "plain" / "hookgate.db"):
        with pytest.raises(StoreReadOnly, match=str(tmp_path)):
            async with open_store(place):
                pass


async def test_a_gateway_goes_on_without_a_catalog_and_says_why(file: Path) -> None:
    put(file, b"garbage" * 1000)
    async with open_catalog(file) as catalog:
        assert isinstance(catalog, Without)
        assert catalog.problem.startswith(f"{file} is damaged")
        assert (catalog.tools(), catalog.servers(), catalog.descriptions) == ((), (), {})
        await catalog.refresh()
        for write in (
            catalog.put_tool(TOOL),
            catalog.remove_tool("t"),
            catalog.put_server(ServerRow("s", "stdio", {}, "model")),
            catalog.remove_server("s"),
            catalog.change_descriptions({"t": "x"}, "ann"),
            catalog.replace_descriptions({}, "ann"),
        ):
            with pytest.raises(StoreCorrupt, match="damaged"):
                await write
    assert held(file) == b"garbage" * 1000


async def test_a_catalog_that_can_be_opened_has_no_problem(file: Path) -> None:
    async with open_catalog(file) as catalog:
        await catalog.put_tool(TOOL)
        assert (catalog.problem, len(catalog.tools())) == ("", 1)


def test_every_kind_of_fault_can_be_caught_as_one() -> None:
    assert all(issubclass(it, StoreFailed) for it in (StoreBusy, StoreFull, StoreCorrupt, StoreTooNew, StoreReadOnly))
