"""docs/embedding.md: its program prints what it says, and its tables name what a Runtime has."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import trio

from hookgate.embedding import Runtime
from hookgate.embedding.above import Above
from tests.cli.program import environment
from tests.docs.page import Part, codes, read_page
from tests.docs.rpc_conversation import write_files

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "embedding.md")


async def test_the_program_prints_what_the_page_says(tmp_path: Path) -> None:
    await _prints(tmp_path, "program", "printed")


async def test_the_program_that_is_asked_prints_what_the_page_says(tmp_path: Path) -> None:
    await _prints(tmp_path, "approving", "approved", PAGE.one("rule").text)


async def test_the_program_for_many_chats_prints_what_the_page_says(tmp_path: Path) -> None:
    await _prints(tmp_path, "chats", "chatted")


async def test_the_program_with_a_tool_of_its_own_prints_what_the_page_says(tmp_path: Path) -> None:
    await _prints(tmp_path, "shelf", "shelved", script=PAGE.one("shelf-script").text)


async def test_every_call_of_the_table_does_what_it_is_there_for(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path, "hookgate.toml", "script.json")
    _, methods = (part for part in PAGE.parts if part.language == "table")
    given = {"chat_id": "7", "text": "hi", "images": (), "name": "local/other", "level": "low"}
    with trio.fail_after(60):
        async with Runtime(tmp_path / "hookgate.toml", workspace=tmp_path) as runtime:
            for row in methods.rows:
                for code in codes(row[0]):
                    said = eval(
                        f"runtime.{code.removeprefix('await ').replace('=()', '')}", dict(given, runtime=runtime)
                    )
                    if code.startswith("await "):
                        await said
                    elif hasattr(said, "__aiter__"):
                        assert [event async for event in said]
            assert runtime.state().model == "other"


async def _prints(tmp_path: Path, program: str, printed: str, more: str = "", script: str = "") -> None:
    # Apart from the home folder, where hookgate keeps its state: the page's listing shows the workspace alone.
    work = tmp_path / "work"
    work.mkdir()
    write_files(PAGE, work, "hookgate.toml", "script.json")
    with (work / "hookgate.toml").open("a") as file:
        file.write(more)
    if script:
        (work / "script.json").write_text(script)
    env = {**environment(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", PAGE.one(program).text]
    with trio.fail_after(20):
        ran = await trio.run_process(command, cwd=work, env=env, capture_stdout=True)
    # Log lines of an unconfigured structlog go to stdout too.
    lines = [line for line in ran.stdout.decode().splitlines() if "[info" not in line]
    assert lines == PAGE.one(printed).text.splitlines()


def test_a_runtime_is_made_as_the_page_says() -> None:
    made: dict[str, object] = {}
    exec(PAGE.one("opening").text, made)
    assert isinstance(made["runtime"], Runtime)


def test_the_tables_name_every_setting_and_every_method() -> None:
    settings, methods = (part for part in PAGE.parts if part.language == "table")
    above = set(Above.__annotations__)
    assert _names(settings) == above | {"approve", "channel"}
    public = {name for name, _ in inspect.getmembers(Runtime, inspect.isfunction) if not name.startswith("_")}
    assert _names(methods) == public


def _names(table: Part) -> set[str]:
    spoken = (code for row in table.rows for code in codes(row[0]))
    return {code.removeprefix("await ").partition("(")[0] for code in spoken}
