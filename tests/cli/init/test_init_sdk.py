"""`hookgate init --sdk LANGUAGE`: the hook in that language and its SDK run by the very lines that are printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.program import environment
from tests.examples.programs import nodes
from tests.gotool import OFFLINE, go_command
from tests.plugins.test_three_sdks import TSC, stripping_node
from tests.preloaded import put_hookgate

DEADLINE_S = 240.0
SCRIPTED = """
[providers.script]
kind = "scripted"
script = "script.json"
"""
STEPS = {"steps": [{"calls": [{"name": "bash", "arguments": {"command": "rm -rf notes"}}]}, {"text": "As you wish."}]}
WRITTEN = {
    "python": {"hooks/guard.py", "hooks/hookgate_plugin.py"},
    "typescript": {"hooks/guard.mts", "hooks/hookgate_plugin.mts", "hooks/tsconfig.json"},
    "go": {"hooks/guard/main.go", "hooks/guard/go.mod", "hooks/guard/hookgate/go.mod"},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder of programs that comes first on PATH: hookgate, a Node that strips types, Go."""
    folder = tmp_path / "bin"
    folder.mkdir()
    put_hookgate(folder)
    (folder / "go").symlink_to(go_command())
    return folder


def shell(path: Path, folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    env = {**environment(path.parent), **OFFLINE, "GOCACHE": go_cache(), "OPENAI_API_KEY": "sk-test"}
    env["PATH"] = f"{path}:{env['PATH']}"
    return subprocess.run(
        ["sh", "-ec", line], cwd=folder, env=env, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )


def go_cache() -> str:
    return subprocess.run([go_command(), "env", "GOCACHE"], capture_output=True, text=True, check=True).stdout.strip()


def scripted(folder: Path, steps: Mapping[str, object] = STEPS) -> None:
    """The model is one that does what a script says."""
    file = folder / "hookgate.toml"
    file.write_text(file.read_text().replace("[agent]\n", '[agent]\nmodel = "script/m"\n', 1) + SCRIPTED)
    (folder / "script.json").write_text(json.dumps(steps))


@pytest.mark.parametrize("language", WRITTEN)
def test_what_is_printed_makes_the_hook_run_and_deny(path: Path, tmp_path: Path, language: str) -> None:
    if language == "typescript":
        (path / "node").symlink_to(stripping_node())
    folder = tmp_path / "gate"
    folder.mkdir()
    done = shell(path, folder, f"hookgate init --sdk {language}")
    assert done.returncode == 0, done.stderr
    assert re.match(r"Wrote hookgate.toml(, [\w./]+)? and hooks/[\w./]*\.\n", done.stdout)
    written = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert WRITTEN[language] | {"hookgate.toml"} <= written
    assert not [name for name in written if "_test" in name]
    *steps, chat = re.findall(r"^  (.+)$", done.stdout.partition("What to do next:\n")[2], re.M)
    assert chat == "hookgate chat"
    done = shell(path, folder, "\n".join(steps))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d+ ok, \d+ skip in ", done.stdout, re.M), done.stdout
    assert "hookgate.toml: fine. Model openai/gpt-5-mini, 1 hook, 2 approval rules." in done.stdout
    scripted(folder)
    done = shell(path, folder, f"{chat} --once go --trace")
    assert re.search(r"'rm -rf( notes)?' is not allowed here", done.stderr), done.stderr


def test_a_file_of_the_sdk_in_the_way_is_named_and_nothing_is_written(path: Path, tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "hookgate_plugin.py").write_text("mine")
    done = shell(path, tmp_path, "hookgate init --sdk python")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "hookgate: hooks/hookgate_plugin.py exists; --force overwrites it\n"
    assert not (tmp_path / "hookgate.toml").exists()
    assert (tmp_path / "hooks" / "hookgate_plugin.py").read_text() == "mine"


@pytest.mark.parametrize(
    ("version", "command", "said"),
    [
        ("v20.20.2", '["node", "hooks/guard.mts"]', "the node on PATH is 20.20.2, and the hook needs Node 22.18"),
        ("v22.7.0", '["node", "--experimental-strip-types", "hooks/guard.mts"]', ""),
        ("v24.0.0", '["node", "hooks/guard.mts"]', ""),
    ],
)
def test_which_node_is_there_decides_how_it_is_called(
    path: Path, tmp_path: Path, version: str, command: str, said: str
) -> None:
    (path / "node").write_text(f"#!/bin/sh\necho {version}\n")
    (path / "node").chmod(0o755)
    done = shell(path, tmp_path, "hookgate init --sdk typescript")
    assert f"command = {command}  #" in (tmp_path / "hookgate.toml").read_text()
    assert re.findall(r"^! (.+) or later", done.stdout, re.M) == ([said] if said else [])


def test_the_compiler_finds_mistakes_of_types_in_what_was_written_and_no_others(path: Path, tmp_path: Path) -> None:
    if not TSC.exists():
        pytest.skip("no TypeScript here: make .venv/.sdk")
    (path / "node").symlink_to(nodes()["bundled"])
    assert shell(path, tmp_path, "hookgate init --sdk typescript").returncode == 0
    hooks = tmp_path / "hooks"
    # What `npm i -D` makes there.
    (hooks / "node_modules").symlink_to(TSC)
    with (hooks / "guard.mts").open("a") as file:
        file.write('plugin.beforeTool("bash", (call) => plugin.deny(call.tol));\n')
    done = shell(path, hooks, "node node_modules/typescript/bin/tsc")
    (mistake,) = re.findall(r"error TS\d+: (.+)", done.stdout)
    assert "Property 'tol' does not exist on type 'Call'" in mistake


def test_a_machine_without_node_or_go_is_told_what_the_hook_needs(path: Path, tmp_path: Path) -> None:
    (path / "go").unlink()
    for program in ("sh", "env", shutil.which("python3") or "python3"):
        found = shutil.which(program)
        assert found
        (path / Path(found).name).symlink_to(found)
    env = {**environment(tmp_path), "PATH": str(path)}
    for language, needs in {"go": "Go 1.21 or later", "typescript": "Node 22.18 or later"}.items():
        command = ["hookgate", "init", "--sdk", language, language]
        done = subprocess.run(command, cwd=tmp_path, env={**os.environ, **env}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert re.search(rf"^! there is no (go|node) on PATH, .*{needs}", done.stdout, re.M)
