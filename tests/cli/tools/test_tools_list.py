"""`hookgate tools list` and `show`: what is started for real, what a running gateway says, what does not start."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
import trio

from hookgate.protocol.catalog import ServerRow, ToolRow
from hookgate.store import open_store
from hookgate.tools.dynamic.identity import digest
from tests.cli.program import DEADLINE_S, environment, hook
from tests.cli.tools.tools_program import set_up, tools
from tests.cli.zot.zot_folders import extension
from tests.processes import line_of

WORDS = ["disabled:", "dynamic.enabled", "is", "off"]
BUILTINS = {"bash", "edit", "ls", "read", "web_fetch", "write"}
RULES = '[[approvals]]\nname = "shell"\ntools = ["bash"]\nchannels = ["telegram"]\n'
WRITTEN = '[[approvals]]\nname = "written"\ntools = ["ls"]\norigins = ["text"]\n'


def parsed(stdout: str) -> dict[str, dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(stdout)
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"]: row for row in rows}


async def test_the_configuration_s_tools_are_listed_with_their_flags_and_no_model(tmp_path: Path) -> None:
    ended = await tools(set_up(tmp_path, RULES), "list", "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    rows = parsed(ended.stdout)
    assert rows.keys() >= BUILTINS
    assert (rows["ls"]["read_only"], rows["ls"]["provider"], rows["ls"]["reserved"]) == (True, "builtin", True)
    assert (rows["bash"]["read_only"], rows["bash"]["approval"], rows["ls"]["approval"]) == (False, ["shell"], [])
    assert all(row["state"] == "ok" and not row["shadowed_by"] for row in rows.values())


async def test_a_provider_without_its_key_does_not_keep_the_tools_from_being_listed(tmp_path: Path) -> None:
    provider = '[agent]\nmodel = "o/m"\n[providers.o]\nkind = "openai"\napi_key_env = "NOT_SET_ANYWHERE"\n'
    ended = await tools(set_up(tmp_path, provider), "list")
    assert (ended.returncode, ended.stderr) == (0, "")
    first, header, *lines = ended.stdout.splitlines()
    assert first == "No hookgate of this configuration is running; this is what it would register."
    assert header.split() == ["name", "provider", "version", "flags"]
    assert [line.split()[0] for line in lines] == sorted(line.split()[0] for line in lines)


async def test_a_tool_that_a_hook_declares_is_the_hook_s_and_hidden_behind_a_registered_one(tmp_path: Path) -> None:
    hook(tmp_path, "weather", "")
    section = hook(tmp_path, "weather_owned", 'intercept = ["before_tool"]')
    rows = parsed((await tools(set_up(tmp_path, section), "list", "--json")).stdout)
    assert (rows["weather"]["provider"], rows["weather"]["shadowed_by"]) == ("hook:weather_owned", "")
    rename(tmp_path / "weather_owned.py", "def weather(", "def ls(")
    ended = await tools(tmp_path, "list")
    lines = [line.split() for line in ended.stdout.splitlines() if line.startswith("ls ")]
    assert [(line[1], line[-1]) for line in lines] == [("builtin", "-"), ("hook:weather_owned", "builtin")]


async def test_a_tool_that_a_hook_declares_and_no_model_could_use_is_said_to_be_refused(tmp_path: Path) -> None:
    hook(tmp_path, "weather", "")
    section = hook(tmp_path, "weather_owned", 'intercept = ["before_tool"]')
    rename(tmp_path / "weather_owned.py", 'city, today."', 'city.", name="the weather"')
    set_up(tmp_path, section)
    row = parsed((await tools(tmp_path, "list", "--json")).stdout)["the weather"]
    assert (row["state"], row["reason"][:30]) == ("refused", "'the weather' is no tool name:")
    lines = (await tools(tmp_path, "list")).stdout.splitlines()
    assert lines[lines.index("not started:") + 1].startswith("  the weather  hook:weather_owned  refused: ")
    assert (await tools(tmp_path, "call", "the weather", '{"city": "Oslo"}')).returncode != 0


def rename(file: Path, old: str, new: str) -> None:
    file.write_text(file.read_text().replace(old, new))


async def test_one_tool_is_shown_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    wish = '[[tools.preferences]]\ntools = ["l*"]\nweight = 0.9\n'
    set_up(tmp_path, wish + RULES + WRITTEN)
    await tools(tmp_path, "describe", "ls", "What is there.")
    ended = await tools(tmp_path, "show", "ls")
    assert (ended.returncode, ended.stderr) == (0, "")
    head, description, override, flags, timeout, approval, preference = ended.stdout.splitlines()[:7]
    assert head == "ls  (builtin)"
    assert description.startswith("description: List")
    assert override == "the model reads instead: What is there."
    assert flags.startswith("flags: read-only")
    assert flags.endswith(",approval:text")
    assert approval == "approval: a person is asked by rule written (calls of origin text)"
    assert timeout == "timeout: 60 s"
    assert '"weight": 0.9' in preference
    schema = json.loads(ended.stdout.partition("schema: ")[2])
    assert schema["properties"]["path"]["type"] == "string"
    assert "approval: a person is asked by rule shell" in (await tools(tmp_path, "show", "bash")).stdout


async def test_a_long_time_that_a_tool_has_is_said_in_whole_numbers(tmp_path: Path) -> None:
    shown = await tools(set_up(tmp_path, '[agent]\ndelegates_to = ["ops"]\n[agents.ops]\n'), "show", "delegate")
    assert "\ntimeout: 2592000 s\n" in shown.stdout


async def test_a_tool_that_is_not_there_is_said_with_what_may_be_meant(tmp_path: Path) -> None:
    ended = await tools(set_up(tmp_path), "show", "bsah")
    assert (ended.returncode, ended.stdout) == (1, "there is no tool 'bsah'; close: bash\n")


# --- the catalog --------------------------------------------------------------------------------------------


async def _fill(folder: Path) -> None:
    program = folder / "tool.py"
    program.write_text("print(1)\n")
    whole = ToolRow("whole", "process", {"name": "whole"}, str(program), "", "operator")
    whole = replace(whole, sha256=digest("print(1)\n", whole.spec))
    async with open_store(folder / "store.db") as store:
        await store.put_tool(replace(whole, name="off", enabled=False))
        await store.put_tool(replace(whole, name="gone", source=str(folder / "no.py")))
        await store.put_tool(replace(whole, name="other", sha256="00"))
        await store.put_tool(replace(whole, name="ls"))
        await store.put_tool(replace(whole, name="made", origin="model", workspace=str(folder)))
        await store.put_tool(replace(whole, name="elsewhere", workspace="/elsewhere"))
        await store.put_server(ServerRow("files", "stdio", {"command": ["x"]}, "model"))


async def test_rows_of_the_catalog_that_do_not_run_are_listed_with_their_reason(tmp_path: Path) -> None:
    await _fill(set_up(tmp_path))
    ended = await tools(tmp_path, "list", "--json")
    states = [
        (row["name"], row["provider"], row["state"]) for row in json.loads(ended.stdout) if row["state"] != "ok"
    ]
    off = ["gone", "ls", "made", "off", "other"]
    assert states == [*((name, "dynamic", "disabled") for name in off), ("files", "mcp:files", "needs_approval")]
    lines = (await tools(tmp_path, "list")).stdout.splitlines()
    assert lines[lines.index("not started:") + 1].split() == ["gone", "dynamic", *WORDS]


async def test_each_row_says_why_it_cannot_start(tmp_path: Path) -> None:
    await _fill(set_up(tmp_path, "[dynamic]\nenabled = true\n"))
    ended = await tools(tmp_path, "list", "--json")
    states = {row["name"]: row["state"] for row in json.loads(ended.stdout) if row["state"] != "ok"}
    said = {"off": "disabled", "gone": "missing", "other": "changed", "ls": "shadowed", "made": "needs_approval"}
    assert states == {**said, "files": "needs_approval"}


async def test_a_catalog_that_cannot_be_read_does_not_keep_the_tools_from_being_listed(tmp_path: Path) -> None:
    (set_up(tmp_path) / "store.db").write_bytes(b"x" * 5000)
    ended = await tools(tmp_path, "list", "--json")
    assert ended.returncode == 0
    assert parsed(ended.stdout).keys() >= BUILTINS
    assert "is damaged or no database" in ended.stderr


# --- a running gateway --------------------------------------------------------------------------------------


@pytest.fixture
def folder() -> Generator[Path]:
    """Short: a socket's path may have 107 bytes at most."""
    path = Path(tempfile.mkdtemp(prefix="hg-"))
    yield path
    shutil.rmtree(path)


@asynccontextmanager
async def open_gateway(folder: Path) -> AsyncGenerator[trio.Process]:
    """As a process of its own: what a gateway has started may not steer it."""
    program = [sys.executable, str(Path(__file__).parent / "tools_gateway.py"), str(folder)]
    variables = {**environment(folder), "PYTHONPATH": str(Path(__file__).parents[3])}
    process = await trio.lowlevel.open_process(program, stdin=PIPE, stdout=PIPE, cwd=folder, env=variables)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with process.stdin, process.stdout:
            assert await line_of(process.stdout) == b"up\n"
            yield process
            await process.stdin.aclose()
            assert await process.wait() == 0
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()


async def test_a_running_gateway_answers_for_itself_and_takes_descriptions_over(folder: Path) -> None:
    set_up(folder, f'[agent]\nworkspace = "{folder}"\n')
    with trio.fail_after(3 * DEADLINE_S):
        async with open_gateway(folder) as gateway:
            assert gateway.stdout is not None
            socket = ("--control", f"{folder}/c.sock")
            rows = parsed((await tools(folder, "list", "--json", *socket)).stdout)
            assert "ls" in rows
            assert "bash" not in rows
            ended = await tools(folder, "list", *socket)
            assert ended.stdout.splitlines()[0] == f"The hookgate at {folder}/c.sock:"
            ended = await tools(folder, "describe", "ls", "New.", *socket)
            assert (ended.stdout, ended.stderr) == ("revision 1\n", "")
            assert await line_of(gateway.stdout) == b"1 New.\n"
            assert "the model reads instead: New." in (await tools(folder, "show", "ls", *socket)).stdout


async def test_a_forgotten_row_is_gone_and_what_runs_of_it_is_said(folder: Path) -> None:
    await _fill(set_up(folder, f'[agent]\nworkspace = "{folder}"\n'))
    with trio.fail_after(3 * DEADLINE_S):
        async with open_gateway(folder):
            ended = await tools(folder, "forget", "gone", "--yes", "--control", f"{folder}/c.sock")
            said = "the running hookgate keeps what it has started until it is restarted"
            assert (ended.returncode, ended.stdout.splitlines()[1:], ended.stderr) == (0, [said], "")
            ended = await tools(folder, "list", "--json", "--control", f"{folder}/c.sock")
            assert "gone" not in [row["name"] for row in json.loads(ended.stdout)]


async def test_a_gateway_that_was_named_and_does_not_run_is_said(folder: Path) -> None:
    set_up(folder)
    for command in (("list",), ("show", "ls"), ("describe", "ls", "x"), ("forget", "x", "--yes")):
        ended = await tools(folder, *command, "--control", str(folder / "no.sock"))
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr == f"hookgate: no hookgate is running at {folder}/no.sock\n"
    assert not (folder / "store.db").exists()


async def test_an_extension_that_is_named_has_its_tools_listed_shown_and_called(tmp_path: Path) -> None:
    named = ("--ext", str(extension(set_up(tmp_path), "ext")))
    listed = await tools(tmp_path, "list", *named)
    assert (listed.returncode, listed.stderr) == (0, "")
    first, *lines = listed.stdout.splitlines()
    assert first == "This is what hookgate would register with these extensions."
    assert ["do", "zot:ext"] in [line.split()[:2] for line in lines]
    shown = await tools(tmp_path, "show", "do", *named)
    assert (shown.returncode, shown.stdout.splitlines()[0]) == (0, "do  (zot:ext)")
    called = await tools(tmp_path, "call", "do", *named)
    assert (called.returncode, "hello_ack" in called.stdout) == (0, True)


async def test_one_that_runs_is_not_asked_about_an_extension_that_is_named(tmp_path: Path) -> None:
    ended = await tools(set_up(tmp_path), "list", "--ext", "ext", "--control", "control.sock")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--control asks a hookgate that runs, which --ext is not for" in ended.stderr
