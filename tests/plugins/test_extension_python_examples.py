"""The example extensions in Python: each runs from its folder, as its manifest says."""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hookgate.extensions.git import Git
from hookgate.extensions.install import install
from hookgate.protocol.zot.reading import read_frame
from tests.examples.zot_host import DANGEROUS, HARMLESS, Host, argv, manifest, open_ready
from tests.wire import open_child

SDKS = Path(__file__).parents[2] / "plugins" / "python"
FOLDERS = sorted(path.parent for path in SDKS.rglob("extension.json"))
HERE = {folder.name: folder for folder in FOLDERS}


@asynccontextmanager
async def open_example(name: str | Path, **env: str) -> AsyncGenerator[Host]:
    # The manifest's `python3` is looked up on PATH: here it is the interpreter that runs the tests.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    folder = HERE[name] if isinstance(name, str) else name
    async with open_ready(argv(folder), folder, {"PATH": path, **env}) as host:
        yield host


def test_all_examples_are_here() -> None:
    assert [*HERE] == ["guard", "hello", "review"]


@pytest.mark.parametrize("name", [*HERE])
def test_every_example_is_python_3_9_and_its_manifest_names_it(name: str) -> None:
    folder = HERE[name]
    about = manifest(folder)
    assert (about["name"], about["exec"]) == (name, "python3")
    ast.parse((folder / about["args"][0]).read_text(), feature_version=(3, 9))


@pytest.mark.parametrize("name", [*HERE])
def test_every_example_has_the_sdk_beside_it_as_a_file_where_it_is_installed(name: str, tmp_path: Path) -> None:
    sdks = {path.name for path in HERE[name].glob("hookgate_*.py")}
    assert sdks == {"hookgate_extension.py", *(["hookgate_plugin.py"] if name == "review" else [])}
    installed = install(str(HERE[name]), tmp_path / "own", Git({}))
    assert not [path for path in installed.iterdir() if path.is_symlink()]
    assert [sdk for sdk in sdks if (installed / sdk).read_bytes() != (SDKS / sdk).read_bytes()] == []


@pytest.mark.parametrize("name", [*HERE])
async def test_every_example_runs_where_it_is_installed(name: str, tmp_path: Path) -> None:
    folder = install(str(HERE[name]), tmp_path / "own", Git({}))
    async with open_example(folder, GUARD_LOG=str(tmp_path / "log")) as host:
        assert host.frames[0]["name"] == name
        assert await host.shutdown() == 0
    assert host.child.stderr == "" or name == "guard"


@pytest.mark.parametrize("name", [*HERE])
async def test_every_example_starts_with_frames_that_a_host_reads_and_ends(name: str, tmp_path: Path) -> None:
    async with open_example(name, GUARD_LOG=str(tmp_path / "log")) as host:
        assert (host.frames[0]["type"], host.frames[0]["name"]) == ("hello", name)
        assert [read_frame(frame).type for frame in host.frames] == [frame["type"] for frame in host.frames]
        assert await host.shutdown() == 0
    assert "Traceback" not in host.child.stderr


async def test_hello_greets_through_the_model_and_summons_with_notes() -> None:
    async with open_example("hello") as host:
        greeting = {"action": "prompt", "prompt": "Greet Ada with a short, slightly absurd compliment."}
        assert await host.command("hello", "Ada") == greeting
        shown = await host.command("summon")
        note = await host.until("notify")
    assert shown == {"action": "display", "display": "a wisp of incense curls past your terminal."}
    assert note == {"type": "notify", "level": "info", "message": "the daemon stirs in its cage."}


async def test_guard_refuses_dangerous_commands_in_words_for_the_model(tmp_path: Path) -> None:
    async with open_example("guard", GUARD_LOG=str(tmp_path / "log")) as host:
        reason = (await host.bash("rm -rf /tmp/foo"))["reason"]
        assert [(await host.bash(command)).get("block") for command in DANGEROUS] == [True] * len(DANGEROUS)
        assert [await host.bash(command) for command in HARMLESS] == [{}] * len(HARMLESS)
        assert await host.intercept("tool_call", tool_name="read", tool_args={"path": "sudo"}) == {}
    assert reason == (
        'guard refused: command matches the danger pattern "(?i)\\\\brm\\\\s+-rf\\\\b". '
        "Ask the user before running this."
    )


async def test_guard_takes_its_patterns_from_the_environment(tmp_path: Path) -> None:
    async with open_example("guard", GUARD_LOG=str(tmp_path / "log"), GUARD_PATTERNS="^reboot\n\nhalt") as host:
        assert (await host.bash("halt now"))["block"] is True
        assert await host.bash("rm -rf /") == {}


async def test_guard_writes_down_what_happens_and_what_it_refused(tmp_path: Path) -> None:
    async with open_example("guard", TMPDIR=str(tmp_path), GUARD_LOG="") as host:
        await host.event("session_start")
        await host.event("tool_call", tool_id="c1", tool_name="bash", tool_args={"command": "sudo ls"})
        await host.bash("sudo ls")
        await host.event("turn_end", stop="end")
        assert await host.shutdown() == 0
    log = tmp_path / "guard-extension.log"
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(entry["event"] for entry in entries) == ["refused", "session_start", "tool_call", "turn_end"]
    assert log.stat().st_mode & 0o777 == 0o600
    assert '"pattern": "(?i)\\\\bsudo\\\\b"' in host.child.stderr


async def test_guard_does_not_follow_a_link_that_somebody_put_where_its_log_is(tmp_path: Path) -> None:
    (tmp_path / "guard-extension.log").symlink_to(tmp_path / "victim")
    async with open_example("guard", TMPDIR=str(tmp_path), GUARD_LOG="") as host:
        assert (await host.bash("sudo ls"))["block"] is True
    assert not (tmp_path / "victim").exists()


# --- one file that is both ------------------------------------------------------------------------------------


async def test_review_follows_its_rule_as_an_extension() -> None:
    async with open_example("review") as host:
        assert (await host.bash("git push --force origin main"))["block"] is True
        assert await host.bash("git push --force-with-lease") == {}


async def test_review_follows_the_same_rule_as_a_hook() -> None:
    call = {"tool": "bash", "arguments": {"command": "cd x && git push -f"}}
    async with open_child([sys.executable, HERE["review"] / "review.py"]) as child:
        assert (await child.call("hook.hello", {"name": "review", "version": 1}))["stages"] == ["before_tool"]
        denied = await child.call("hook.before_tool", call)
        passed = await child.call("hook.before_tool", {**call, "arguments": {"command": "git push"}})
    assert denied["action"] == "deny_tool"
    assert denied["reason"].startswith("review: a forced push")
    assert passed == {"action": "continue"}
