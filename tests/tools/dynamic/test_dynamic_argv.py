"""Tools that are any program: what they print, how they fail, and which may be run at all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import trio

from hookgate.tools.dynamic.workshop import Terms
from hookgate.tools.errors import ToolError
from tests.sandboxes import NO_SANDBOX
from tests.tools.dynamic.shops import MemoryCatalog, open_shop

# In the tests' own folder: a sandbox empties the one for temporary files.
PROGRAMS = Path(__file__).with_name("programs")
GREET = PROGRAMS / "greet.sh"
TERMS = Terms(argv_roots=(PROGRAMS,))


@pytest.mark.parametrize(
    ("case", "text", "data"),
    [
        ("text", "hello", None),
        ("object", '{"a": [1, "é"]}', {"a": [1, "é"]}),
        ("list", '{"result": [1]}', {"result": [1]}),
        ("nothing", "ok", None),
        ("echo", '{"case": "echo"}', {"case": "echo"}),
    ],
)
async def test_what_a_program_prints_is_the_result(tmp_path: Path, case: str, text: str, data: object) -> None:
    async with open_shop(tmp_path, terms=TERMS) as shop:
        await shop.workshop.register_argv(GREET, "ann")
        result = await shop.call("greet", case=case)
        assert (result.for_llm, result.data, result.is_error) == (text, data, False)


@pytest.mark.parametrize(
    ("case", "kind", "said"),
    [
        ("error", "unknown", "no such name"),
        ("exit", "unknown", "its program exited with status 3\nIts stderr ends:\nlast words"),
        ("prose", "unknown", "it printed something that is not JSON"),
        ("array", "unknown", "it printed JSON that is not an object"),
        ("neither", "unknown", "it printed neither data nor an error"),
        ("huge", "budget", "it printed more than 1048576 bytes"),
        ("hang", "transient", "it did not end in time and was stopped"),
        pytest.param("write", "unknown", "status 4", marks=NO_SANDBOX),
    ],
)
async def test_a_program_that_fails_says_how(tmp_path: Path, case: str, kind: str, said: str) -> None:
    limit_s = 1.0 if case == "hang" else 20.0
    async with open_shop(tmp_path, terms=TERMS, call_timeout_s=limit_s) as shop:
        await shop.workshop.register_argv(GREET, "ann")
        result = await shop.call("greet", case=case)
        assert result.error is not None
        assert result.error.kind == kind
        assert said in result.for_llm


async def test_a_program_starts_in_a_private_folder(tmp_path: Path) -> None:
    async with open_shop(tmp_path, terms=TERMS) as shop:
        await shop.workshop.register_argv(GREET, "ann")
        where, home = (await shop.call("greet", case="where")).for_llm.split()
        assert home == f"{where}/home"
        assert not await trio.Path(where).exists()


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    folder = tmp_path / "allowed"
    shutil.copytree(PROGRAMS, folder)
    (tmp_path / "outside.sh").write_text("#!/bin/sh\n")
    (tmp_path / "outside.sh").chmod(0o755)
    (folder / "link.sh").symlink_to(tmp_path / "outside.sh")
    (folder / "inner.sh").symlink_to(folder / "greet.sh")
    (folder / "plain.sh").write_text("#!/bin/sh\n")
    (folder / "plain.sh").chmod(0o644)
    return folder


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("../outside.sh", "permission"),
        ("link.sh", "permission"),
        ("nothing.sh", "not_found"),
        ("plain.sh", "permission"),
        (".", "not_found"),
    ],
)
async def test_only_programs_below_an_allowed_folder_run_links_followed(
    tmp_path: Path, copies: Path, program: str, kind: str
) -> None:
    async with open_shop(tmp_path, terms=Terms(argv_roots=(copies,)), mode="off") as shop:
        with pytest.raises(ToolError) as caught:
            await shop.workshop.register_argv(copies / program, "ann")
        assert caught.value.kind == kind
        assert shop.names() == set()


async def test_without_allowed_folders_no_program_runs(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        with pytest.raises(ToolError, match="not below an allowed folder"):
            await shop.workshop.register_argv(GREET, "ann")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "not JSON"),
        ("[]", "not an object"),
        ('{"description": "x", "parameters": {}}', "no name of a tool"),
        ('{"name": "Bad Name", "description": "x", "parameters": {}}', "no name of a tool"),
        ('{"name": "odd", "description": " ", "parameters": {}}', "no description"),
        ('{"name": "odd", "description": "x", "parameters": []}', "must be a JSON Schema object"),
        ('{"name": "odd", "description": "x", "parameters": {"type": "nothing"}}', "schema"),
        ('{"name": "unregister_tool", "description": "x", "parameters": {}}', "taken by builtin"),
    ],
)
async def test_a_program_that_describes_itself_badly_is_refused(
    tmp_path: Path, copies: Path, said: str, reason: str
) -> None:
    (copies / "said").write_text(said)
    async with open_shop(tmp_path, terms=Terms(argv_roots=(copies,)), mode="off") as shop:
        with pytest.raises(ToolError, match=reason):
            await shop.workshop.register_argv(copies / "odd.sh", "ann")
        assert shop.names() == set()


async def test_an_operators_program_comes_back_and_a_changed_one_does_not_run(tmp_path: Path, copies: Path) -> None:
    catalog, terms = MemoryCatalog(), Terms(argv_roots=(copies,))
    async with open_shop(tmp_path, catalog, terms, mode="off") as shop:
        await shop.workshop.register_argv(copies / "inner.sh", "ann")
        (row,) = catalog.tools()
        assert (row.kind, row.origin, row.approved_by) == ("argv", "operator", "ann")
        assert row.source == str((copies / "greet.sh").resolve())
    async with open_shop(tmp_path, catalog, terms, mode="off") as shop:
        assert (await shop.call("greet", case="text")).for_llm == "hello"
        with (copies / "greet.sh").open("a") as file:
            file.write("# one word more\n")
        changed = await shop.call("greet", case="text")
        assert changed.error is not None
        assert changed.error.kind == "permission"
        assert "changed since it was approved" in changed.for_llm
    async with open_shop(tmp_path, catalog, terms, mode="off") as shop:
        assert await shop.states() == {"greet": "changed"}
        assert shop.names() == set()
