"""The example extensions as hookgate itself runs them: through its own adapter, roster and panels."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from hookgate.hooks.zot.extension import ZotExtension
from hookgate.hooks.zot.start import open_extension
from hookgate.protocol.chat import Chat
from hookgate.protocol.hook.answers import CONTINUE, Deny
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.protocol.zot.answers import CommandAnswer
from hookgate.protocol.zot.frames import Panel
from tests.examples.programs import BUNDLED_NODE
from tests.examples.zot_host import argv, manifest
from tests.gotool import run_go
from tests.hooks.doubles import STEP
from tests.hooks.processes import open_rounds
from tests.hooks.zot.extensions import Screen, Theatre

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "plugins" / "python" / "extensions"
GO = ROOT / "plugins" / "go" / "ext"
NOTES = ROOT / "examples" / "extensions" / "notes"
DEADLINE_S = 30.0


class Watched(Screen):
    """A screen that rings when a panel is drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = trio.Event()

    def panel(self, extension: str, panel: Panel, chat: Chat | None) -> None:
        super().panel(extension, panel, chat)
        self.drawn.set()


@asynccontextmanager
async def open_example(theatre: Theatre, folder: Path, project: Path, **env: str) -> AsyncGenerator[ZotExtension]:
    """The extension of this folder, ready."""
    spec = theatre.spec(
        name=manifest(folder)["name"],
        command=tuple(argv(folder)),
        directory=str(folder),
        environment={"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]), **env},
        project_dir=str(project),
    )
    with trio.fail_after(DEADLINE_S):
        async with open_rounds() as rounds, open_extension(spec, rounds) as extension:
            yield extension


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    for name in ("weather", "guard", "todo"):
        (folder / name).mkdir()
        shutil.copy(GO / name / "extension.json", folder / name)
        run_go("build", "-o", f"{folder / name}/bin/", ".", cwd=GO / name)
    return folder


async def judged(extension: ZotExtension, command: str) -> object:
    question = Question(Stage.BEFORE_TOOL, STEP, ToolCall("c1", "bash", {"command": command}))
    return await extension.ask(question, 5.0)


async def tool(extension: ZotExtension, name: str, **arguments: str) -> ToolResult:
    found = next(tool for tool in extension.tools if tool.spec.name == name)
    return await found.execute(ToolCall("c1", name, arguments))


@pytest.mark.parametrize("language", ["python", "go"])
async def test_a_guard_denies_with_its_bare_reason(
    language: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = PYTHON / "guard" if language == "python" else request.getfixturevalue("built") / "guard"
    async with open_example(Theatre(), folder, tmp_path, GUARD_LOG=str(tmp_path / "log")) as guard:
        assert guard.how_ready == "frame"
        denied = await judged(guard, "rm -rf /")
        assert await judged(guard, "ls") == CONTINUE
    assert isinstance(denied, Deny)
    assert denied.bare
    assert denied.reason.startswith("guard refused: command matches the danger pattern")


async def test_one_file_denies_as_an_extension_too(tmp_path: Path) -> None:
    async with open_example(Theatre(), PYTHON / "review", tmp_path) as review:
        denied = await judged(review, "git push --force")
    assert isinstance(denied, Deny)
    assert "forced push" in denied.reason


async def test_hello_notifies_before_it_displays(tmp_path: Path) -> None:
    theatre = Theatre()
    async with open_example(theatre, PYTHON / "hello", tmp_path):
        summoned = await theatre.roster.command("SUMMON", "")
        assert theatre.screen.shown == [("note", "hello", "info", "the daemon stirs in its cage.", None)]
        assert summoned == CommandAnswer("display", "a wisp of incense curls past your terminal.")
        greeting = await theatre.roster.command("hello", "Ada")
    assert greeting == CommandAnswer("prompt", "Greet Ada with a short, slightly absurd compliment.")


async def test_the_weather_is_a_tool_for_the_model(built: Path, tmp_path: Path) -> None:
    async with open_example(Theatre(), built / "weather", tmp_path) as weather:
        (spec,) = (tool.spec for tool in weather.tools)
        assert spec.parameters["required"] == ["city"]
        assert (await tool(weather, "weather", city="Berlin")).for_llm.startswith("Berlin: 16°C, fog")
        empty = await tool(weather, "weather", city="")
    assert (empty.is_error, empty.for_llm) == (True, "city is required")


async def test_the_to_do_panel_is_drawn_for_keys_and_for_the_model(built: Path, tmp_path: Path) -> None:
    screen = Watched()
    theatre = Theatre(screen)
    shutil.copytree(built / "todo", tmp_path / "todo")
    async with open_example(theatre, tmp_path / "todo", tmp_path) as todo:
        await theatre.roster.command("todo", "")
        screen.drawn = trio.Event()
        theatre.roster.press("rune", " ")
        await screen.drawn.wait()
        listed = await tool(todo, "todo_manage", action="list")
        await tool(todo, "todo_manage", action="add", title="rest")
        current = theatre.roster.panels.current
    assert listed.for_llm == "[x] Build something fun"
    assert current
    assert (current.panel.title, len(current.panel.lines)) == ("Todos (1/2 done)", 2)


async def test_notes_are_kept_in_the_project(tmp_path: Path) -> None:
    theatre = Theatre()
    path = os.pathsep.join([str(BUNDLED_NODE.parent), os.environ["PATH"]])
    async with open_example(theatre, NOTES, tmp_path, PATH=path) as notes:
        assert await theatre.roster.command("note", "buy milk") == CommandAnswer("display", "noted (#1): buy milk")
        assert (await theatre.roster.command("note", "")).text == "extension /note: note: usage is /note <text>"
        assert (await tool(notes, "read_notes")).for_llm.endswith("buy milk")
    assert (tmp_path / ".zot" / "scratchpad-notes.jsonl").is_file()
