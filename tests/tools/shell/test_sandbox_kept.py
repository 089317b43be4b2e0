"""What a command cannot do to the files that the next start runs, inside its own workspace."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest
import trio

from hookgate.protocol.values import ToolCall
from hookgate.tools.builtin import Parts, builtin_tools
from hookgate.tools.dispatch import execute
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.kept import Kept
from hookgate.tools.shell.sandbox import SandboxOptions, open_shelter

DEADLINE_S = 30.0
ENVIRONMENT = {"PATH": os.environ["PATH"]}
needs_bwrap = pytest.mark.needs("bwrap")


@needs_bwrap
@pytest.mark.parametrize(
    "line",
    [
        "mv hooks old && mkdir hooks && echo evil > hooks/guard.py",
        "echo evil > hooks/json.py",
        "rm -r hooks",
        "mkdir -p .hookgate/extensions/evil",
        "mkdir made && mv made .zot",
    ],
)
async def test_no_command_plants_what_the_next_start_runs(tmp_path: Path, line: str) -> None:
    (tmp_path / "hooks").mkdir()
    guard = tmp_path / "hooks" / "guard.py"
    guard.write_text("good")
    folders = (tmp_path / ".hookgate" / "extensions", tmp_path / ".zot" / "extensions")
    kept = Kept((guard, guard.parent), folders)
    with trio.fail_after(DEADLINE_S):
        async with open_shelter(tmp_path, ENVIRONMENT, SandboxOptions(), lambda: kept) as shelter:
            assert (await shelter.chosen()).kind == "bwrap"
            bash = builtin_tools(Parts(Workspace(tmp_path, lambda: kept), shelter, ENVIRONMENT))[0]
            result = await execute(bash, ToolCall("1", "bash", {"command": line}))
            after = await execute(bash, ToolCall("2", "bash", {"command": "echo fine > other && cat other"}))
    assert result.is_error
    assert not after.is_error
    assert guard.read_text() == "good"
    assert [path.name for path in (tmp_path / "hooks").iterdir()] == ["guard.py"]
    assert not (tmp_path / ".hookgate").exists()
    assert not (tmp_path / ".zot").exists()


async def test_a_folder_that_is_made_and_goes_while_it_is_looked_for_ends_nothing(tmp_path: Path) -> None:
    folder = tmp_path / ".zot" / "extensions"
    kept, over = Kept(folders=(folder,)), threading.Event()

    def flicker() -> None:
        while not over.is_set():
            folder.mkdir(parents=True)
            folder.rmdir()
            folder.parent.rmdir()

    with trio.fail_after(DEADLINE_S):
        opened = open_shelter(tmp_path, ENVIRONMENT, SandboxOptions("off"), lambda: kept)
        async with opened as shelter, trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, flicker)
            try:
                for _ in range(500):
                    assert set((await shelter.chosen()).unmade) <= {folder, folder.parent}
            finally:
                over.set()


READS = """
import sys, trio
from pathlib import Path
from hookgate.protocol.values import ToolCall
from hookgate.tools.builtin import Parts, builtin_tools
from hookgate.tools.dispatch import execute
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.kept import Kept
from hookgate.tools.shell.sandbox import SandboxOptions, open_shelter

async def main(folder, environment):
    keep = lambda: Kept(folders=(folder / ".zot" / "extensions",))
    async with open_shelter(folder, environment, SandboxOptions(), keep) as shelter:
        bash = builtin_tools(Parts(Workspace(folder, keep), shelter, environment))[0]
        result = await execute(bash, ToolCall("1", "bash", {"command": "cat there; mkdir .zot || echo closed"}))
        print((await shelter.chosen()).kind, result.for_llm)

trio.run(main, Path(sys.argv[1]), {"PATH": sys.argv[2]})
"""


@needs_bwrap
async def test_a_command_reads_a_workspace_that_is_mounted_read_only(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("it is there\n")
    walls = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(tmp_path), str(tmp_path)]
    program = [sys.executable, "-c", READS, str(tmp_path), os.environ["PATH"]]
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process([*walls, *program], capture_stdout=True)
    shown = ended.stdout.decode()
    assert "\nbwrap " in shown
    assert "\nit is there\n" in shown
    assert "\nclosed\n" in shown


@needs_bwrap
async def test_to_try_the_walls_makes_nothing_in_the_workspace(tmp_path: Path) -> None:
    kept = Kept(folders=(tmp_path / ".zot" / "extensions",))
    with trio.fail_after(DEADLINE_S):
        async with open_shelter(tmp_path, ENVIRONMENT, SandboxOptions(), lambda: kept) as shelter:
            await shelter.chosen()
            assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "path", [".zot/extensions/e/extension.json", "sub/.hookgate/x", "hookgate.toml", "hooks/re.py"]
)
async def test_no_file_tool_plants_it_either(tmp_path: Path, path: str) -> None:
    (tmp_path / "hooks").mkdir()
    with trio.fail_after(DEADLINE_S):
        async with open_shelter(tmp_path, ENVIRONMENT, SandboxOptions("off")) as shelter:
            tools = builtin_tools(
                Parts(Workspace(tmp_path, lambda: Kept((tmp_path / "hooks",))), shelter, ENVIRONMENT)
            )
            write = next(tool for tool in tools if tool.spec.name == "write")
            result = await execute(write, ToolCall("1", "write", {"path": path, "content": "x"}))
    assert result.error is not None
    assert result.error.kind == "permission"
    assert not (tmp_path / path).exists()
