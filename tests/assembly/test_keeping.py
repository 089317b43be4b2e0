"""What is kept from tools: computed from the configuration, from PATH and from what lies on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hookgate import config as configuration
from hookgate.assembly.keeping.kept import Keeping, seals_folder
from hookgate.sections import Config

HOOK = '[hooks.processes.guard]\nintercept = ["before_tool"]\ncommand = {command}\n'


def made(folder: Path, *files: str) -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
        (folder / name).chmod(0o755)
    return folder


def parsed(folder: Path, text: str) -> Config:
    return configuration.parse(f'[agent]\nworkspace = "{folder}"\n{text}', folder / "hookgate.toml")


def keeping(folder: Path, text: str) -> Keeping:
    return Keeping(parsed(folder, text), folder / "hookgate.toml")


def refused(keep: Keeping, *names: str) -> list[str]:
    kept = keep()
    return [name for name in names if kept.covers(keep.workspace / name) or keep.workspace / name in kept.told]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ('["python3", "hooks/guard.py"]', ["hooks/guard.py", "hooks/imported.py"]),
        ('["python3", "-m", "guards.first"]', ["guards/first.py", "guards/__init__.py", "guards.py"]),
        ('["venv/bin/python", "x.py"]', ["x.py", "venv/pyvenv.cfg", "venv/lib/python3/site-packages/evil.pth"]),
        ('["tools/run"]', ["tools/run", "tools/beside"]),
        ('["go", "run", "./cmd/guard"]', ["cmd/guard/main.go"]),
        ('["npx", "./cmd/guard"]', ["cmd/guard/main.go"]),
        ('["env", "nodejs", "./cmd/guard"]', ["cmd/guard/main.go"]),
        ('["env", "Rscript", "nope/missing.R"]', ["nope/missing.R"]),
        ('["env", "zsh", "nope/missing.zsh"]', ["nope/missing.zsh"]),
        ('["awk", "-f", "nope/missing.awk"]', ["nope/missing.awk"]),
        ('["node", "nope/missing.mts"]', ["nope/missing.mts"]),
        ('["python3", "--config=conf/rules.py"]', ["conf/rules.py"]),
        ('["/usr/bin/env", "python3", "nope/missing.py"]', ["nope/missing.py"]),
        (f'["python3", "-c", "{"#" * 300}", "hooks/guard.py"]', ["hooks/guard.py"]),
        (f'["python3", "-c", "{"#" * 300}.py", "hooks/guard.py"]', ["hooks/guard.py"]),
        ('["true"]\ndir = "backend"', ["backend/anything"]),
        ('["true"]\nenv = { PYTHONPATH = "lib" }', ["lib/json.py"]),
        ('["true"]', ["hookgate.toml", "AGENTS.md", "CLAUDE.md", "hooks/new.py", ".hookgate/skills/x/SKILL.md"]),
    ],
)
def test_what_a_hook_runs_is_kept_with_all_that_belongs_to_it(tmp_path: Path, command: str, names: list[str]) -> None:
    files = (
        "hooks/guard.py",
        "venv/bin/python",
        "venv/pyvenv.cfg",
        "tools/run",
        "cmd/guard/main.go",
        "conf/rules.py",
    )
    made(tmp_path, *files, "guards/first.py", "src/app.py")
    keep = keeping(tmp_path, HOOK.format(command=command))
    assert refused(keep, *names) == names
    assert refused(keep, "src/app.py", "other.py", "data", "hooks.txt") == []
    # Whatever cannot be the name of a file is not there.
    assert all(path.exists() or path in keep().told for path in keep().there())


def test_a_virtual_environment_of_the_project_on_path_is_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path, ".venv/bin/python3", ".venv/pyvenv.cfg", "early/other", "hook.py")
    monkeypatch.setenv("PATH", f"{tmp_path}/early:{tmp_path}/.venv/bin:{os.environ['PATH']}")
    keep = keeping(tmp_path, HOOK.format(command='["python3", "hook.py"]'))
    names = [".venv/lib/python3/site-packages/x.pth", ".venv/bin/python3", "early/python3", "hook.py"]
    assert refused(keep, *names) == names
    (tmp_path / "hook.py").write_text("#!/usr/bin/env python3\n")
    assert refused(keeping(tmp_path, HOOK.format(command='["./hook.py"]')), *names) == names
    outside = keeping(tmp_path, HOOK.format(command='["/usr/bin/true"]'))
    assert refused(outside, *names) == []


def test_programs_of_mcp_servers_and_skills_folders_and_what_the_configuration_adds_are_kept(tmp_path: Path) -> None:
    made(tmp_path, "servers/docs.py", "notes/a.md", "deploy/prod/x", "a.key", "deep/b.key")
    text = """
[tools]
kept = ["deploy/prod", "**/*.key", "new/folder/"]
[skills]
folders = ["notes"]
[mcp.servers.docs]
command = ["python3", "servers/docs.py", "data"]
"""
    keep = keeping(tmp_path, text)
    names = [
        "servers/docs.py",
        "servers/lib.py",
        "deploy/prod/x",
        "a.key",
        "deep/b.key",
        "not/there.key",
        "new/folder/x",
    ]
    assert refused(keep, *names) == names
    assert refused(keep, "notes/a.md") == ["notes/a.md"]
    assert refused(keep, "deploy/x", "data/x", "key", "new/x") == []
    assert {path.name for path in keep().there() if path.suffix == ".key"} == {"a.key", "b.key"}
    assert tmp_path / "new" / "folder" in keep().folders


@pytest.mark.parametrize("name", ["plain", "old [1]", "[!a]", "a*b?", "[[]"])
def test_what_is_kept_by_a_pattern_is_so_whatever_its_folders_are_called(tmp_path: Path, name: str) -> None:
    workspace = made(tmp_path / name, "a.pem", "b/c.pem", "real/k.key", "secrets/x", "app/[id]/page.ts", "src/a.py")
    (workspace / "linked").symlink_to("real")
    kept = '["*.pem", "**/*.pem", "linked/*.key", "sec*/", "app/[id]/page.ts", "src/[bc].py"]'
    keep = keeping(workspace, f"[tools]\nkept = {kept}\n")
    names = ["a.pem", "b/c.pem", "b/new.pem", "real/k.key", "secrets/x", "secrets", "app/[id]/page.ts", "src/b.py"]
    assert refused(keep, *names) == names
    assert refused(keep, "src/a.py", "app/i/page.tsx", "keys") == []
    there = {str(path.relative_to(workspace)) for path in keep().there() if path.exists()}
    assert {"a.pem", "b/c.pem", "real/k.key", "secrets", "app/[id]/page.ts"} <= there


def test_what_lies_outside_or_is_the_workspace_itself_keeps_nothing_from_tools(tmp_path: Path) -> None:
    workspace = made(tmp_path / "w", "app.py")
    for command in ('["go", "run", "."]', '["go", "run", ".."]', '["python3", "/"]'):
        assert refused(keeping(workspace, HOOK.format(command=command)), "app.py", "x") == []


def test_a_link_is_kept_with_what_it_leads_to(tmp_path: Path) -> None:
    made(tmp_path, "real/guard.py")
    (tmp_path / "hooks").symlink_to("real")
    keep = keeping(tmp_path, HOOK.format(command='["python3", "hooks/guard.py"]'))
    assert refused(keep, "hooks", "real/guard.py", "real/imported.py") == [
        "hooks",
        "real/guard.py",
        "real/imported.py",
    ]


def test_a_hook_that_a_reload_brings_is_kept_and_one_that_fails_changes_nothing(tmp_path: Path) -> None:
    made(tmp_path, "later/second.py")
    keep = keeping(tmp_path, "")
    assert refused(keep, "later/second.py") == []
    newer = parsed(tmp_path, HOOK.format(command='["python3", "later/second.py"]'))
    with pytest.raises(AssertionError), keep.adopting(newer):
        assert refused(keep, "later/second.py") == []
    assert refused(keep, "later/second.py") == []
    with keep.adopting(newer):
        pass
    assert refused(keep, "later/second.py") == ["later/second.py"]


def test_a_workspace_that_holds_hookgates_state_does_not_seal_what_hookgate_writes_while_a_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    sealed = keeping(tmp_path, "").sealed()
    assert str(tmp_path / "hookgate.toml") in sealed
    assert str(configuration.trust_folder()) in sealed
    assert not [path for path in sealed if seals_folder().is_relative_to(path)]
    assert keeping(tmp_path, "")().covers(seals_folder() / "1-x.json")
    own = (configuration.history_file(), configuration.learnt_folder())
    assert not [path for path in sealed if Path(path) in own]
    assert set(own) <= set(keeping(tmp_path, "")().hidden)
    assert keeping(tmp_path, "")().covers(configuration.learnt_folder() / "guard.json")
