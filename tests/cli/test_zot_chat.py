"""`hookgate chat` with extensions, between pipes: which are loaded, their tools, their commands, what they show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import PROMPT, configured, none_left, open_pipes, run
from tests.cli.zot_folders import command, do, extension, panel_extension, project, tool
from tests.model_server import Answer, calls, open_model_server, says

NOWHERE = "http://127.0.0.1:9/v1"
QUIET = '[log]\nlevel = "error"\n'


async def shown(folder: Path, *typed: str, flags: Sequence[str] = ()) -> str:
    """What a chat printed on stdout when these lines were typed; stderr must stay empty."""
    ended = await run(folder, "chat", *flags, stdin="\n".join(typed).encode())
    assert (ended.returncode, ended.stderr) == (0, b"")
    return ended.stdout.decode()


def asks(tool_name: str, **arguments: Any) -> Answer:
    return calls(("1", tool_name, json.dumps(arguments)))


# --- tools --------------------------------------------------------------------------------------------------


async def test_the_model_uses_a_tool_of_an_extension(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext")
    async with open_model_server(
        asks("do", do="blocks", blocks=[{"type": "text", "text": "fog"}]), says("Fog.")
    ) as server:
        text = await shown(configured(tmp_path, server.base_url), "weather?", "/tools")
    assert "1 extension" in text
    assert "zot:ext" in text
    assert server.requests[1].body["messages"][-1]["content"] == "fog"
    await none_left(tmp_path)


async def test_an_extension_cannot_take_a_built_in_name_not_even_one_that_is_switched_off(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext", tool("bash"), tool("grep"), tool("mine"))
    folder = configured(tmp_path, NOWHERE, '[tools]\nenabled = ["grep"]\n[log]\nlevel = "error"\n')
    rows = [line.split()[:2] for line in (await shown(folder, "/tools")).splitlines() if line.startswith("  ")]
    assert ["grep", "builtin"] in rows
    assert ["mine", "zot:ext"] in rows
    assert not [name for name, _provider in rows if name == "bash"]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
async def test_of_two_extensions_with_one_tool_the_first_in_load_order_counts(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    flags = [word for name in order for word in ("-e", str(extension(tmp_path / "exts", name)))]
    text = await shown(configured(tmp_path, NOWHERE, QUIET), "/tools", flags=flags)
    assert f"zot:{order[0]}" in text
    assert f"zot:{order[1]}" not in text


# --- which are loaded ---------------------------------------------------------------------------------------


async def test_no_ext_loads_only_what_ext_names(tmp_path: Path) -> None:
    extension(project(tmp_path), "found", command("found"))
    named = extension(tmp_path / "elsewhere", "named", command("named"))
    text = await shown(configured(tmp_path, NOWHERE), "/help", flags=["--no-ext", "--ext", str(named)])
    assert "/named   the command named  (named)" in text
    assert "/found" not in text


async def test_a_broken_extension_is_named_on_stderr_and_the_others_load(tmp_path: Path) -> None:
    extension(project(tmp_path), "good", command("good"))
    broken = extension(project(tmp_path), "broken", exec="")
    gone = extension(project(tmp_path), "gone", mode="exit_at_start")
    config = configured(tmp_path, NOWHERE, QUIET)
    ended = await run(config, "chat", stdin=b"/help\n")
    assert b"/good" in ended.stdout
    assert sorted(ended.stderr.decode().splitlines()) == [
        f"extension load: {broken}: manifest: exec is required",
        f"extension load: {gone}: extension exited before hello: exit status 3",
    ]


@pytest.mark.parametrize(
    "section", ["[zot]\nenabled = false\n", "[zot]\ndiscover = false\n", "[zot.extensions.ext]\nenabled = false\n"]
)
async def test_configuration_keeps_a_projects_extensions_out(tmp_path: Path, section: str) -> None:
    extension(project(tmp_path), "ext")
    text = await shown(configured(tmp_path, NOWHERE, section), "/tools")
    assert "zot:ext" not in text


async def test_ext_without_zot_is_a_mistake(tmp_path: Path) -> None:
    named = extension(tmp_path / "elsewhere", "named")
    folder = configured(tmp_path, NOWHERE, "[zot]\nenabled = false\n")
    ended = await run(folder, "chat", "--ext", str(named))
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr == b"hookgate: zot.enabled is false, so --ext loads nothing\n"


async def test_reload_starts_what_is_there_now_and_ext_is_remembered(tmp_path: Path) -> None:
    named = extension(tmp_path / "elsewhere", "named", command("named"))
    extension(project(tmp_path), "old", command("old"), tool("dropped"))
    async with open_pipes(configured(tmp_path, NOWHERE), "chat", "--ext", str(named)) as screen:
        await screen.line("/help")
        await screen.sees("/named")
        await screen.sees("/old  ")
        (project(tmp_path) / "old").rename(tmp_path / "away")
        extension(project(tmp_path), "fresh", command("fresh"), tool("added"))
        await screen.line("/reload-ext")
        await screen.sees("· Extensions: named, fresh.")
        await screen.line("/help")
        await screen.sees("/fresh   the command fresh")
        await screen.line("/old")
        await screen.sees("There is no command /old")
        await screen.line("/tools")
        await screen.sees("zot:fresh")
        assert "dropped" not in screen.shown
        await screen.line("/quit")
        assert await screen.ends() == 0
    await none_left(tmp_path)


async def test_a_configured_extension_gets_its_environment_and_no_more(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext")
    section = '[zot.extensions.ext]\nenv = { GREETING = "hello" }\n'
    async with open_model_server(asks("do", do="where"), says("Done.")) as server:
        await shown(configured(tmp_path, server.base_url, section), "where?")
    where = json.loads(server.requests[1].body["messages"][-1]["content"])
    assert where["cwd"] == str(project(tmp_path) / "ext")
    assert where["env"]["GREETING"] == "hello"
    assert where["env"]["ZOT_HOME"] == str(tmp_path / ".local" / "state" / "zot")
    assert "XDG_RUNTIME_DIR" not in where["env"]


# --- commands -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("/do one  two", "[ext] Do one  two"),
        ("/DO", "[ext] Do"),
        (do(answer={"action": "display", "display": "a\nb"}), "[ext] a\n[ext] b"),
        (do(answer={"action": "insert", "insert": "half a sentence"}), "half a sentence"),
        (do(answer={"action": "noop"}), None),
        (do(answer={}), None),
        (do(answer={"action": "prompt", "prompt": "  "}), None),
        (do(answer={"action": "dance"}), "! extension /Do: unknown action dance"),
        (do(answer={"action": "display", "display": "no", "error": "usage"}), "! extension /Do: usage"),
        (do(exit=True), "! extension /Do: extension ext disconnected"),
    ],
)
async def test_each_action_of_a_command(tmp_path: Path, typed: str, expected: str | None) -> None:
    extension(project(tmp_path), "ext")
    folder = configured(tmp_path, NOWHERE, QUIET)
    lines = (await shown(folder, typed)).partition("\n")[2].removeprefix(PROMPT)
    assert lines.removesuffix(PROMPT).strip() == (expected or "")


async def test_a_prompt_of_a_command_is_the_users_message_and_a_display_reaches_no_model(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext")
    async with open_model_server(says("Hi Bob.")) as server:
        folder = configured(tmp_path, server.base_url)
        text = await shown(
            folder, do(answer={"display": "shown", "action": "display"}), do(answer=GREET), "/unknown x"
        )
    assert "Hi Bob." in text
    said = [[m["content"] for m in it.body["messages"] if m["role"] == "user"] for it in server.requests]
    assert said == [["/stop Bob"], ["/stop Bob", "/unknown x"]]


# What would be a command if a person had typed it.
GREET = {"action": "prompt", "prompt": "/stop Bob"}


async def test_notes_of_a_command_come_before_its_display(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext")
    note = {"type": "notify", "level": "info", "message": "the daemon stirs\nin its cage"}
    typed = do(frames=[note, {"type": "clear_notes"}], answer={"action": "display", "display": "a wisp"})
    text = await shown(configured(tmp_path, NOWHERE), typed)
    assert "[ext] the daemon stirs\n[ext] in its cage\n[ext] a wisp\n" in text


async def test_hookgates_own_commands_win_and_of_two_extensions_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "exts"
    flags = [
        "-e",
        str(extension(folder, "b", command("Both"))),
        "-e",
        str(extension(folder, "a", command("both"), command("help"))),
    ]
    ended = await run(configured(tmp_path, NOWHERE), "chat", *flags, stdin=b"/help\n/both\n")
    text = ended.stdout.decode()
    assert "this text" in text
    assert "[b] Both" in text
    assert "[a]" not in text
    assert b"extension_command_refused" in ended.stderr
    assert ended.stderr.count(b"command=help") == 1


async def test_a_submitted_text_is_a_message_of_the_user(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext")
    frames = [{"type": "submit", "text": " look at this "}, {"type": "submit", "text": "  "}]
    async with open_model_server(says("I see.")) as server:
        text = await shown(configured(tmp_path, server.base_url), do(frames=frames, answer={"action": "noop"}))
    assert "[ext] look at this" in text
    assert "I see." in text
    assert [it.body["messages"][-1]["content"] for it in server.requests] == ["look at this"]


async def test_a_panel_between_pipes_is_text(tmp_path: Path) -> None:
    panel_extension(project(tmp_path))
    text = await shown(configured(tmp_path, NOWHERE), "/rows", "/heard")
    assert "[panel] Rows\n[panel] * row 0\n[panel]   row 1" in text
    assert "[panel] closes with x\n" in text
    assert "[panel] last none" in text


async def test_once_runs_a_command_and_its_notes_go_to_stderr(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext")
    note = {"type": "notify", "level": "warn", "message": "careful"}
    folder = configured(tmp_path, NOWHERE)
    display = do(frames=[note], answer={"action": "display", "display": "shown"})
    ended = await run(folder, "chat", "--once", display)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"[ext] shown\n", b"[ext] careful\n")
    silent = await run(folder, "chat", "--once", do(answer={"action": "noop"}))
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, b"", b"")
