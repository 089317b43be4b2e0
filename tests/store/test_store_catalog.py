"""The catalog in a real file: what is put comes back, what is acknowledged stays, and nobody sees half a write."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookgate.protocol.catalog import ServerRow, ToolRow
from hookgate.store import open_store
from hookgate.store.migrations import APPLICATION_ID, MIGRATIONS

WRITER = [sys.executable, str(Path(__file__).parent / "writer.py")]
ROOT = Path(__file__).parents[2]
TOOL = ToolRow("t", "process", {"name": "t", "n": 2**70}, "/tools/t/tool.py", "ab" * 32, "model")
SERVER = ServerRow("s", "stdio", {"command": ["x", "é\0"]}, "operator", secret_ref="secret:S", tool_hashes={"a": "1"})


def start(file: Path, limit: str, prefix: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([*WRITER, file, limit, prefix], stdout=subprocess.PIPE, cwd=ROOT, env=environment)


def killed_after(writer: subprocess.Popen[bytes], lines: int) -> list[bytes]:
    """All that it said until it was killed in the middle of its work."""
    assert writer.stdout is not None
    said = [writer.stdout.readline() for _ in range(lines)]
    writer.kill()
    said += writer.stdout.readlines()
    writer.stdout.close()
    writer.wait()
    return said


async def test_rows_come_back_as_they_were_put(file: Path) -> None:
    async with open_store(file) as store:
        tool = await store.put_tool(replace(TOOL, approved_by="ann", approved_at=12.5, enabled=False, granted="cd"))
        server = await store.put_server(SERVER)
        assert (store.tools(), store.servers()) == ((tool,), (server,))
    async with open_store(file) as store:
        assert (store.tools(), store.servers()) == ((tool,), (server,))
    given = replace(TOOL, approved_by="ann", approved_at=12.5, enabled=False, granted="cd")
    assert replace(tool, updated_at=0.0) == given
    assert replace(server, updated_at=0.0) == SERVER


async def test_a_file_of_the_first_version_keeps_its_rows_without_grants_and_for_all_workspaces(file: Path) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as old:
        for statement in MIGRATIONS[0]:
            old.execute(statement)
        old.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        old.execute("PRAGMA user_version = 1")
        row = ("", "t", "process", "{}", "/t.py", "ab", "model", None, None, 1, 0.0)
        old.execute(f"INSERT INTO tools VALUES ({', '.join('?' * len(row))})", row)
        old.commit()
    async with open_store(file) as store:
        (tool,) = store.tools("/anywhere")
        assert (tool.name, tool.workspace, tool.granted, tool.lasts) == ("t", "", None, False)
        await store.put_tool(replace(tool, granted="ab"))
    async with open_store(file) as store:
        assert [it.lasts for it in store.tools()] == [True]


async def test_a_row_of_the_same_name_and_workspace_is_replaced(file: Path) -> None:
    async with open_store(file) as store:
        await store.put_tool(TOOL)
        await store.put_tool(replace(TOOL, sha256="cd", origin="operator"))
        assert [(row.sha256, row.origin) for row in store.tools()] == [("cd", "operator")]


async def test_a_workspace_sees_its_own_rows_and_those_for_all_and_its_own_hides_the_other(file: Path) -> None:
    async with open_store(file) as store:
        for workspace, name in (("", "b"), ("", "a"), ("/w", "b"), ("/v", "c")):
            await store.put_tool(replace(TOOL, name=name, workspace=workspace))
        assert [(row.workspace, row.name) for row in store.tools("/w")] == [("", "a"), ("/w", "b")]
        assert [(row.workspace, row.name) for row in store.tools()] == [("", "a"), ("", "b")]


async def test_only_the_row_of_exactly_that_workspace_is_removed(file: Path) -> None:
    async with open_store(file) as store:
        await store.put_tool(TOOL)
        await store.put_server(SERVER)
        assert not await store.remove_tool("t", "/w")
        assert await store.remove_tool("t")
        assert not await store.remove_tool("t")
        assert await store.remove_server("s")
        assert (store.tools(), store.servers()) == ((), ())
    async with open_store(file) as store:
        assert (store.tools(), store.servers()) == ((), ())


async def test_the_file_and_its_folder_are_their_owner_s_alone(file: Path) -> None:
    async with open_store(file) as store:
        await store.put_tool(TOOL)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
    assert modes == {"hookgate.db": 0o600, "hookgate.db-wal": 0o600, "hookgate.db-shm": 0o600}
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=st.dictionaries(st.text(), JSON, max_size=3), source=st.text())
def test_any_spec_survives_the_file(tmp_path: Path, spec: dict[str, Any], source: str) -> None:
    async def main() -> None:
        async with open_store(tmp_path / "any.db") as store:
            await store.put_tool(replace(TOOL, spec=spec, source=source))
            await store.refresh()
            [row] = store.tools()
            assert (row.spec, row.source) == (spec, source)

    trio.run(main)


# --- many at once -------------------------------------------------------------------------------------------


async def test_many_writers_of_one_store_lose_nothing(file: Path) -> None:
    async with open_store(file) as store:
        async with trio.open_nursery() as nursery:
            for number in range(30):
                nursery.start_soon(store.put_tool, replace(TOOL, name=f"t{number:02}"))
        assert [row.name for row in store.tools()] == [f"t{number:02}" for number in range(30)]


async def test_hookgates_that_start_at_once_on_one_file_lose_nothing(file: Path) -> None:
    """The file is not there yet: all of them make it."""
    writers = [start(file, "15", f"w{n}_") for n in range(4)]
    said = [await trio.to_thread.run_sync(writer.communicate, None, 25) for writer in writers]
    assert [len(lines.splitlines()) for lines, _nothing in said] == [15] * 4
    async with open_store(file) as store:
        assert len(store.tools()) == 60
        assert (len(store.descriptions), store.revision) == (60, 60)


async def test_what_another_process_wrote_is_seen_after_a_refresh_and_after_a_write(file: Path) -> None:
    async with open_store(file) as one, open_store(file) as other:
        await one.put_tool(TOOL)
        assert other.tools() == ()
        await other.refresh()
        assert other.tools() == one.tools()
        await other.change_descriptions({"t": "x"}, "ann")
        assert one.revision == 0
        await one.put_tool(replace(TOOL, name="u"))
        assert one.revision == 1


async def test_a_reader_never_sees_half_a_write(file: Path) -> None:
    """Two texts are always changed together; a reader of another connection looks on."""
    seen: set[tuple[str | None, ...]] = set()
    done = trio.Event()

    async def look() -> None:
        async with open_store(file) as store:
            while not done.is_set():
                await store.refresh()
                seen.add(tuple(store.descriptions[name].text for name in "ab"))

    async with open_store(file) as store:
        await store.change_descriptions({"a": "0", "b": "0"}, "ann")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            for number in range(50):
                await store.change_descriptions({"a": str(number), "b": str(number)}, "ann")
            done.set()
    assert all(a == b for a, b in seen)


async def test_a_killed_writer_loses_nothing_that_it_acknowledged(file: Path) -> None:
    for attempt in range(3):
        said = killed_after(start(file, "0", f"k{attempt}_"), 10 + attempt * 7)
        acknowledged = {line.decode().strip() for line in said if line.endswith(b"\n")}
        async with open_store(file) as store:
            kept = {row.name for row in store.tools()}
            assert acknowledged <= kept
            assert acknowledged <= store.descriptions.keys()
            assert store.revision == len(store.descriptions)


# --- cancelling ---------------------------------------------------------------------------------------------


async def test_a_write_that_has_begun_is_finished_when_cancelled_and_one_that_waits_for_it_never_begins(
    file: Path,
) -> None:
    async with open_store(file) as store:
        with closing(sqlite3.connect(file, isolation_level=None)) as other, trio.CancelScope() as scope:
            other.execute("BEGIN IMMEDIATE")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(store.put_tool, TOOL)
                await trio.testing.wait_all_tasks_blocked()
                nursery.start_soon(store.put_tool, replace(TOOL, name="waits"))
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
                other.execute("ROLLBACK")
        assert [row.name for row in store.tools()] == ["t"]
        await store.refresh()
        assert [row.name for row in store.tools()] == ["t"]


async def test_a_write_in_a_cancelled_scope_does_not_begin(file: Path) -> None:
    async with open_store(file) as store:
        with trio.CancelScope() as scope:
            scope.cancel()
            await store.put_tool(TOOL)
        assert scope.cancelled_caught
        assert store.tools() == ()


async def test_a_row_that_breaks_the_table_s_rules_changes_nothing(file: Path) -> None:
    async with open_store(file) as store:
        kept = await store.put_tool(TOOL)
        with pytest.raises(Exception, match="CHECK constraint failed"):
            await store.put_tool(replace(TOOL, kind="program"))  # type: ignore[arg-type]
        assert store.tools() == (kept,)
