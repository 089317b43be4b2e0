"""`hookgate tools describe` and `forget`: the store is edited, and nothing is lost by a wrong word."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookgate.protocol.catalog import ServerRow, ToolRow
from hookgate.store import open_store
from tests.cli.program import open_terminal
from tests.cli.tools.tools_program import set_up, tools


async def test_a_description_is_set_shown_and_cleared_each_with_its_revision(tmp_path: Path) -> None:
    set_up(tmp_path)
    steps = (
        (("ls",), "ls has no description but its own\nrevision 0\n"),
        (("ls", "One\nTwo"), "revision 1\n"),
        (("ls", "One\nTwo"), "revision 1\n"),
        (("bash", "Later"), "revision 2\n"),
        (("ls",), "One\nTwo\nrevision 1\n"),
        (("ls", "--clear"), "revision 3\n"),
        (("ls", "--clear"), "revision 3\n"),
        (("ls",), "ls has no description but its own\nrevision 3\n"),
    )
    for arguments, said in steps:
        ended = await tools(tmp_path, "describe", *arguments)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, said, ""), arguments


async def test_a_description_of_a_tool_that_nobody_knows_is_kept_with_a_note(tmp_path: Path) -> None:
    ended = await tools(set_up(tmp_path), "describe", "no.tool.yet", "Later")
    assert (ended.returncode, ended.stdout) == (0, "revision 1\n")
    assert ended.stderr.startswith("note: no tool of this name is known here")


async def test_a_description_comes_from_a_file_or_from_stdin(tmp_path: Path) -> None:
    set_up(tmp_path)
    (tmp_path / "text").write_text("Grüße\n")
    await tools(tmp_path, "describe", "a", "--file", "text")
    await tools(tmp_path, "describe", "b", "--file", "-", stdin=b"from a pipe")
    async with open_store(tmp_path / "store.db") as store:
        assert {name: row.text for name, row in store.descriptions.items()} == {"a": "Grüße\n", "b": "from a pipe"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ls", " "), "hookgate: a description must not be blank"),
        (("ls", "x" * 2049), "hookgate: the description has more than 2048 bytes"),
        (("ls", "x", "--clear"), "Error: give one of TEXT, --file and --clear"),
    ],
)
async def test_what_cannot_be_a_description_changes_nothing(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    ended = await tools(set_up(tmp_path), "describe", *arguments)
    assert (ended.returncode, ended.stdout, said in ended.stderr) == (2, "", True)
    assert not (tmp_path / "store.db").exists()


async def test_a_store_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    (set_up(tmp_path) / "store.db").write_bytes(b"x" * 5000)
    for command in (("describe", "ls", "x"), ("describe", "ls"), ("forget", "ls", "--yes")):
        ended = await tools(tmp_path, *command)
        assert (ended.returncode, ended.stdout) == (1, "")
        last = ended.stderr.splitlines()[-1]
        assert last.startswith(f"hookgate: {tmp_path}/store.db is damaged or no database"), ended.stderr


async def _fill(folder: Path) -> None:
    async with open_store(folder / "store.db") as store:
        for workspace in ("", str(folder), "/elsewhere"):
            await store.put_tool(ToolRow("t", "process", {}, "/tools/t/tool.py", "ab", "model", workspace))
        await store.put_server(ServerRow("s", "stdio", {}, "model"))


async def rest(folder: Path) -> list[tuple[str, str]]:
    async with open_store(folder / "store.db") as store:
        return sorted([*store.contents.tools, *store.contents.servers])


async def test_a_row_is_forgotten_first_the_workspace_s_own(tmp_path: Path) -> None:
    await _fill(set_up(tmp_path))
    ended = await tools(tmp_path, "forget", "t", "--yes")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"forgot the tool t (/tools/t/tool.py) of {tmp_path}\n"
    assert await rest(tmp_path) == [("", "s"), ("", "t"), ("/elsewhere", "t")]
    ended = await tools(tmp_path, "forget", "t", "--yes")
    assert ended.stdout == "forgot the tool t (/tools/t/tool.py) of every workspace\n"
    assert (await tools(tmp_path, "forget", "s", "--yes")).returncode == 0
    assert await rest(tmp_path) == [("/elsewhere", "t")]


async def test_what_the_catalog_does_not_have_cannot_be_forgotten(tmp_path: Path) -> None:
    ended = await tools(set_up(tmp_path), "forget", "ls", "--yes")
    assert ended.returncode == 1
    assert ended.stderr == "hookgate: the catalog has neither a tool nor an MCP connection 'ls'\n"
    assert not (tmp_path / "store.db").exists()


async def test_without_a_terminal_nothing_is_forgotten_unasked(tmp_path: Path) -> None:
    await _fill(set_up(tmp_path))
    before = await rest(tmp_path)
    ended = await tools(tmp_path, "forget", "t", stdin=b"y\n")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "nobody can be asked here" in ended.stderr
    assert await rest(tmp_path) == before


@pytest.mark.parametrize(("typed", "left"), [("y\n", 3), ("\n", 4)])
async def test_a_person_is_asked_and_enter_is_a_no(tmp_path: Path, typed: str, left: int) -> None:
    await _fill(set_up(tmp_path))
    async with open_terminal(tmp_path, "tools", "forget", "t") as screen:
        await screen.sees("[y/N]")
        await screen.type(typed)
        assert await screen.ends() == (left == 4)
    assert len(await rest(tmp_path)) == left
