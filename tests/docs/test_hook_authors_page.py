"""docs/hook-authors.md keeps its word: its commands print what it shows."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.docs.page import read_page

PAGE = read_page(Path(__file__).parents[2] / "docs" / "hook-authors.md")

MODEL = """
[agent]
model = "p/m"
workspace = "work"
[providers.p]
kind = "scripted"
script = "script.json"
[guards]
shell = "off"
"""
SCRIPT = """{"steps": [
  {"calls": [{"name": "bash", "arguments": {"command": "rm -rf build"}}]},
  {"calls": [{"name": "bash", "arguments": {"command": "true"}}]},
  {"text": "I am done."}
]}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "work").mkdir()
    for part in PAGE.marked("file"):
        (tmp_path / part.mark.split()[1]).write_text(part.text)
    (tmp_path / "script.json").write_text(SCRIPT)
    hooks = PAGE.one("config").text.replace('"python3"', f'"{sys.executable}"')
    (tmp_path / "hookgate.toml").write_text(f"{MODEL}{hooks}")
    return tmp_path


async def test_the_commands_print_what_the_page_shows(folder: Path) -> None:
    guard = (folder / "hooks/guard.py").read_text()
    (folder / "hooks/looser.py").write_text(guard.replace('"rm -rf" in command', '"shred" in command'))
    for part in PAGE.marked("console"):
        for command, shown in part.said:
            ended = await run(folder, *arguments(command))
            printed = ended.stdout.decode() + ended.stderr.decode()
            assert re.sub(r"\b[0-9]+\.[0-9]+ ms", "N ms", printed).rstrip() == shown, command


async def test_the_other_commands_end_well(folder: Path) -> None:
    for part in PAGE.marked(""):
        if part.language == "console":
            for command, _ in part.said:
                ended = await run(folder, *arguments(command))
                assert ended.returncode == 0, (command, ended)


def arguments(command: str) -> list[str]:
    program, *words = shlex.split(command)
    assert program == "hookgate"
    return [sys.executable if word == "python3" else word for word in words]


async def test_what_a_workflow_runs_passes(folder: Path) -> None:
    call = {"hook": "guard", "stage": "approve_tool", "params": {"tool": "bash", "arguments": {}}}
    line = {"kind": "stage_call", "payload": {**call, "answer": {"action": "approve"}}}
    (folder / "tests").mkdir()
    (folder / "tests/guard.jsonl").write_text(json.dumps(line) + "\n")
    commands = PAGE.one("shell").text.strip().split(" && ")
    for command in commands:
        ended = await run(folder, *arguments(command))
        assert ended.returncode == 0, (command, ended)
