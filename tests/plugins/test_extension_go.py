"""The Go SDK for extensions and its three examples: each is built, started from its folder, and spoken to."""

# ruff: noqa: RUF001 - the panel is drawn with these characters

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hookgate.protocol.zot.reading import read_frame
from tests.examples.zot_host import DANGEROUS, HARMLESS, Host, argv, manifest, open_ready, texts
from tests.gotool import run_go

MODULE = Path(__file__).parents[2] / "plugins" / "go"
EXAMPLES = {"guard": "guard", "todo": "todo-panel", "weather": "weather"}

# An extension that prints in every way that could reach the wire.
NOISY = """
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"hookgate.internal/plugin/extension"
)

func main() {
	e := extension.New("noisy", "1")
	fmt.Print("no newline here")
	e.Command("do", "", func(ctx context.Context, args string) (extension.Answer, error) {
		fmt.Println("printed")
		child := exec.CommandContext(ctx, "sh", "-c", "echo from the child; cat")
		child.Stdin, child.Stdout = os.Stdin, os.Stdout
		return extension.Display("done"), child.Run()
	})
	os.Exit(e.Run())
}
"""


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples as `ext install` copies them after they were built: without their module."""
    folder = tmp_path_factory.mktemp("extensions")
    for name in EXAMPLES:
        (folder / name).mkdir()
        shutil.copy(MODULE / "ext" / name / "extension.json", folder / name)
        run_go("build", "-o", f"{folder / name}/bin/", ".", cwd=MODULE / "ext" / name)
    return folder


@pytest.fixture
async def weather(examples: Path) -> AsyncGenerator[Host]:
    async with open_ready(argv(examples / "weather"), examples / "weather") as host:
        yield host


@pytest.fixture
async def todo(examples: Path, tmp_path: Path) -> AsyncGenerator[Host]:
    """The to-do list in a folder of its own, where its file begins anew."""
    folder = tmp_path / "todo"
    shutil.copytree(examples / "todo", folder)
    async with open_ready(argv(folder), folder) as host:
        yield host


@asynccontextmanager
async def open_guard(examples: Path, **env: str) -> AsyncGenerator[Host]:
    async with open_ready(argv(examples / "guard"), examples / "guard", env) as host:
        yield host


@pytest.mark.parametrize("name", [*EXAMPLES])
async def test_every_example_starts_with_frames_that_a_host_reads_and_ends(
    examples: Path, name: str, tmp_path: Path
) -> None:
    folder = examples / name
    assert manifest(folder)["name"] == EXAMPLES[name]
    async with open_ready(argv(folder), folder, {"GUARD_LOG": str(tmp_path / "log")}) as host:
        assert (host.frames[0]["type"], host.frames[0]["name"]) == ("hello", EXAMPLES[name])
        assert [read_frame(frame).type for frame in host.frames] == [frame["type"] for frame in host.frames]
        assert await host.shutdown() == 0
    assert host.child.stderr == ""


# --- weather --------------------------------------------------------------------------------------------------


async def test_the_weather_is_always_the_same(weather: Host) -> None:
    said = await weather.tool("weather", city="Berlin")
    fake = "(this is a deterministic fake; the weather extension is a demo)"
    assert said == {"content": [{"type": "text", "text": f"Berlin: 16°C, fog {fake}"}]}
    first, second = (
        texts(await weather.tool("weather", city="Oslo")),
        texts(await weather.tool("weather", city="OSLO ")),
    )
    assert first[0].removeprefix("Oslo") == second[0].removeprefix("OSLO")


async def test_the_weather_of_no_city_is_an_error(weather: Host) -> None:
    said = await weather.tool("weather", city="")
    assert said == {"content": [{"type": "text", "text": "city is required"}], "is_error": True}
    assert (await weather.tool("weather"))["is_error"] is True


# --- guard ----------------------------------------------------------------------------------------------------


async def test_guard_refuses_dangerous_commands_in_words_for_the_model(examples: Path, tmp_path: Path) -> None:
    async with open_guard(examples, GUARD_LOG=str(tmp_path / "log")) as host:
        reason = (await host.bash("rm -rf /tmp/foo"))["reason"]
        assert [(await host.bash(command)).get("block") for command in DANGEROUS] == [True] * len(DANGEROUS)
        assert [await host.bash(command) for command in HARMLESS] == [{}] * len(HARMLESS)
        assert await host.intercept("tool_call", tool_name="read", tool_args={"path": "sudo"}) == {}
    assert reason == (
        'guard refused: command matches the danger pattern "(?i)\\\\brm\\\\s+-rf\\\\b". '
        "Ask the user before running this."
    )


async def test_guard_takes_its_patterns_from_the_environment(examples: Path, tmp_path: Path) -> None:
    async with open_guard(examples, GUARD_LOG=str(tmp_path / "log"), GUARD_PATTERNS="^reboot\n\nhalt") as host:
        assert (await host.bash("halt now"))["block"] is True
        assert await host.bash("rm -rf /") == {}


async def test_guard_writes_down_what_happens_and_what_it_refused(examples: Path, tmp_path: Path) -> None:
    async with open_guard(examples, TMPDIR=str(tmp_path)) as host:
        await host.event("session_start")
        await host.event("tool_call", tool_id="c1", tool_name="bash", tool_args={"command": "sudo ls"})
        await host.bash("sudo ls")
        await host.event("turn_end", stop="end")
        assert await host.shutdown() == 0
    log = tmp_path / "guard-extension.log"
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(entry["event"] for entry in entries) == ["refused", "session_start", "tool_call", "turn_end"]
    assert log.stat().st_mode & 0o777 == 0o600
    assert '"pattern":"(?i)\\\\bsudo\\\\b"' in host.child.stderr


async def test_guard_does_not_follow_a_link_that_somebody_put_where_its_log_is(
    examples: Path, tmp_path: Path
) -> None:
    (tmp_path / "guard-extension.log").symlink_to(tmp_path / "victim")
    async with open_guard(examples, TMPDIR=str(tmp_path)) as host:
        assert (await host.bash("sudo ls"))["block"] is True
    assert not (tmp_path / "victim").exists()


# --- to-do list -----------------------------------------------------------------------------------------------


async def test_the_panel_opens_with_something_to_do(todo: Host) -> None:
    answer = await todo.command("todo")
    panel = answer["open_panel"]
    assert (answer["action"], panel["id"], panel["title"]) == ("open_panel", "todos-main", "Todos (0/1 done)")
    assert panel["lines"] == ["› □ Build something fun"]


async def test_keys_move_tick_add_edit_and_delete(todo: Host) -> None:
    await todo.command("todo")

    async def typed(text: str, *then: str) -> list[str]:
        keys = [("rune", letter) for letter in text] + [(key, "") for key in then]
        drawn = [await todo.key("todos-main", *key) for key in keys]
        return drawn[-1]["lines"]

    assert await typed(" ") == ["› ■ Build something fun"]
    assert await typed("aBüyq") == ["› ■ Build something fun", "+ Büyq▏"]
    assert await typed("", "backspace", "enter") == ["  ■ Build something fun", "› □ Büy"]
    assert await typed("", "up", "up") == ["› ■ Build something fun", "  □ Büy"]
    assert await typed("", "end") == ["  ■ Build something fun", "› □ Büy"]
    assert await typed("e milk", "enter") == ["  ■ Build something fun", "› □ Büy milk"]
    assert await typed("alost", "tab") == ["  ■ Build something fun", "› □ Büy milk"]
    assert await typed("kd") == ["› □ Büy milk"]
    assert await typed("", "delete") == ["nothing to do: a adds something"]
    assert await typed(" dj", "enter", "delete") == ["nothing to do: a adds something"]
    assert json.loads((todo.folder / "todos.json").read_text()) == []


async def test_the_model_keeps_the_list_and_the_panel_is_drawn_before_it_is_told(todo: Host) -> None:
    assert texts(await todo.tool("todo_manage", action="add", title="call Ada")) == ["ok"]
    assert todo.frames[-1]["type"] == "panel_render"
    assert texts(await todo.tool("todo_manage", action="complete", title="CALL ada")) == ["ok"]
    assert todo.frames[-1]["title"] == "Todos (1/2 done)"
    await todo.tool("todo_manage", action="edit", title="Build something fun", new_title="Build it")
    assert texts(await todo.tool("todo_manage", action="list")) == ["[ ] Build it\n[x] call Ada"]
    await todo.tool("todo_manage", action="remove", title="Build it")
    assert json.loads((todo.folder / "todos.json").read_text()) == [{"title": "call Ada", "done": True}]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"action": "complete", "title": "x"}, "todo not found: x"),
        ({"action": "zap"}, "unsupported action: zap"),
        ({"action": "add"}, "title is required"),
        ({"action": "edit", "title": "Build something fun"}, "new_title is required"),
    ],
)
async def test_what_cannot_be_done_is_an_error(todo: Host, args: dict[str, str], problem: str) -> None:
    said = await todo.tool("todo_manage", **args)
    assert said == {"content": [{"type": "text", "text": problem}], "is_error": True}
    assert not (todo.folder / "todos.json").exists()


async def test_the_list_is_there_after_a_restart(examples: Path, tmp_path: Path) -> None:
    shutil.copytree(examples / "todo", tmp_path / "todo")
    async with open_ready(argv(tmp_path / "todo"), tmp_path / "todo") as host:
        await host.tool("todo_manage", action="add", title="call Ada")
        assert await host.shutdown() == 0
    async with open_ready(argv(tmp_path / "todo"), tmp_path / "todo") as host:
        assert (await host.command("todo"))["open_panel"]["title"] == "Todos (0/2 done)"


async def test_a_broken_list_is_told_and_not_overwritten(examples: Path, tmp_path: Path) -> None:
    shutil.copytree(examples / "todo", tmp_path / "todo")
    (tmp_path / "todo" / "todos.json").write_text("{")
    async with open_ready(argv(tmp_path / "todo"), tmp_path / "todo") as host:
        assert "todos.json" in (await host.command("todo"))["error"]
        assert (await host.tool("todo_manage", action="add", title="x"))["is_error"] is True
    assert (tmp_path / "todo" / "todos.json").read_text() == "{"


# --- the SDK as others use it ---------------------------------------------------------------------------------


async def test_nothing_that_an_extension_prints_reaches_the_wire(tmp_path: Path) -> None:
    (tmp_path / "main.go").write_text(NOISY)
    needs = f"require hookgate.internal/plugin v0.0.0\n\nreplace hookgate.internal/plugin => {MODULE}\n"
    (tmp_path / "go.mod").write_text(f"module noisy\n\ngo 1.21\n\n{needs}")
    run_go("build", "-o", "noisy", ".", cwd=tmp_path)
    async with open_ready([str(tmp_path / "noisy")], tmp_path) as host:
        assert await host.command("do") == {"action": "display", "display": "done"}
        for text in ("no newline here", "printed", "from the child"):
            await host.child.wait_stderr(text)
        assert await host.shutdown() == 0
