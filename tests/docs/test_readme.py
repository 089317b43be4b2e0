"""The README keeps its word: its blocks parse, its hook works, its commands exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from hookgate.config import parse
from tests.wire import open_child

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def commands() -> list[list[str]]:
    lines = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    spoken = re.findall(r"`(hookgate [a-z][^`|]*)`", README)
    return [shlex.split(line, comments=True) for line in [*lines, *spoken]]


@pytest.mark.parametrize("block", blocks("toml"))
def test_every_configuration_block_is_one_that_hookgate_takes(block: str) -> None:
    config = parse(block, Path("README.md"))
    assert config.hooks.processes


async def test_the_ten_line_hook_denies_what_it_says(tmp_path: Path) -> None:
    (source,) = blocks("python")
    assert len([line for line in source.splitlines() if line.strip()]) <= 10
    hook = tmp_path / "no_rm.py"
    hook.write_text(source)
    env = {"PYTHONPATH": str(ROOT / "plugins" / "python"), "PATH": os.environ["PATH"]}
    with trio.fail_after(20):
        async with open_child([sys.executable, str(hook)], env=env) as child:
            offered = {"name": "no-rm", "version": 1, "stages": ["before_tool"], "modes": ["tool"]}
            assert (await child.call("hook.hello", offered))["ok"] is True
            bad = await child.call("hook.before_tool", {"tool": "bash", "arguments": {"command": "rm -rf /"}})
            good = await child.call("hook.before_tool", {"tool": "bash", "arguments": {"command": "ls"}})
    assert bad == {"action": "deny_tool", "reason": "rm -rf is not allowed here"}
    assert good == {"action": "continue"}


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_it_names_exists(command: list[str]) -> None:
    program = Path(command[0]).name
    if program == "make":
        run = subprocess.run(["make", "-n", *command[1:]], cwd=ROOT, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        return
    if program == "export":
        return
    assert program == "hookgate"
    words = [word for word in command[1:] if not word.startswith("-") and word.islower() and word.isalpha()]
    run = subprocess.run(
        [sys.executable, "-m", "hookgate", *words[:2], "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    for option in (word for word in command if word.startswith("--") and word != "--"):
        assert option in run.stdout


def test_the_files_it_points_to_are_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_commands_table_names_every_command() -> None:
    listed = subprocess.run([sys.executable, "-m", "hookgate", "--help"], capture_output=True, text=True).stdout
    for name in re.findall(r"^  ([a-z]+)  ", listed, re.M):
        assert re.search(rf"\b{name}\b", README), name
