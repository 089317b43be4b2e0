"""docs/schema.md: its program prints what it says, and its lines make Java that the compiler takes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import environment
from tests.docs.page import read_page
from tests.examples.programs import BUNDLED_NODE
from tests.preloaded import put_hookgate

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "schema.md")
QUICKTYPE = ROOT / ".venv" / "sdk" / "node_modules" / "quicktype"
DEADLINE_S = 240.0


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH that begins with hookgate."""
    folder = tmp_path / "bin"
    folder.mkdir()
    put_hookgate(folder)
    return f"{folder}:{environment(tmp_path)['PATH']}"


def test_the_program_prints_what_the_page_says(path: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PAGE.one("validating").text]
    env = {**environment(tmp_path), "PATH": path}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    assert done.stdout == PAGE.one("validated").text


def test_the_lines_of_the_page_make_java_that_compiles(path: str, tmp_path: Path) -> None:
    if not QUICKTYPE.exists():
        pytest.skip("no generator here: make .venv/.sdk")
    lines = [line.removeprefix("$ ") for line in PAGE.one("generating").lines]
    pinned = json.loads((ROOT / "tests/plugins/npm/package.json").read_text())["dependencies"]["quicktype"]
    assert f"npx quicktype@{pinned} " in lines[2]
    npx = tmp_path / "bin" / "npx"
    npx.write_text(f'#!/bin/sh\nshift\nexec "{BUNDLED_NODE}" "{QUICKTYPE}/dist/index.js" "$@"\n')
    npx.chmod(0o755)
    typed("\n".join(lines[:3]), path, tmp_path)
    (shown,) = PAGE.marked("generated")
    assert (tmp_path / "java" / shown.mark.split()[1]).read_text() == shown.text
    schema = json.loads((tmp_path / "hook.schema.json").read_text())
    made = {file.stem for file in (tmp_path / "java").iterdir()}
    assert {name for name in schema["$defs"] if name.endswith(("Params", "Result"))} <= made
    if shutil.which("javac", path=path) is None:
        pytest.skip("no javac on PATH: what is generated is not compiled")
    typed(lines[3], path, tmp_path)
    assert (tmp_path / "classes" / "hook" / "BeforeToolResult.class").is_file()


FLAGS = {language.strip("`"): flag.strip("`") for language, flag in PAGE.one("refusing").rows if flag.startswith("`")}


@pytest.mark.parametrize("language", FLAGS)
def test_languages_that_refuse_the_flag_of_java_take_that_of_the_page(
    path: str, tmp_path: Path, language: str
) -> None:
    if not QUICKTYPE.exists():
        pytest.skip("no generator here: make .venv/.sdk")
    (tmp_path / "made").mkdir()
    generate = f'"{BUNDLED_NODE}" "{QUICKTYPE}/dist/index.js" --src-lang schema --lang {language}'
    asked = f"{generate} {FLAGS[language]} --out made/Hook 'hook.schema.json#/$defs/'"
    typed(f"hookgate schema > hook.schema.json\n{asked}", path, tmp_path)
    made = "".join(file.read_text() for file in (tmp_path / "made").iterdir())
    assert "BeforeToolResult" in made
    with pytest.raises(AssertionError, match="Unknown option: --just-types"):
        typed(asked.replace(FLAGS[language], "--just-types"), path, tmp_path)


def typed(lines: str, path: str, folder: Path) -> None:
    env = {**environment(folder), "PATH": path}
    done = subprocess.run(
        ["sh", "-ec", lines], cwd=folder, env=env, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
