"""The SDKs can be depended on: hookgate-plugin is a package that pip builds, and the Go module builds a hook in any
folder. Neither asks the network."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests import gotool
from tests.gotool import run_go
from tests.wire import open_child

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "plugins"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
DEADLINE_S = 240.0
HELLO = {"name": "guard", "version": 1, "stages": ["before_tool"], "modes": ["tool"]}
RM = {"tool": "bash", "arguments": {"command": "rm -rf /"}}


def ran(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def wheel_of(source: str, folder: Path) -> Path:
    """Built as `pip install` builds it, with the build backend that is here."""
    ran(*PIP, "wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", "wheels", source, cwd=folder)
    (wheel,) = (folder / "wheels").glob("*.whl")
    return wheel


def repository(folder: Path) -> Path:
    """One with the SDK where hookgate's has it."""
    sdk = folder / "plugins" / "python"
    sdk.mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "hookgate_plugin.py", "hookgate_extension.py"):
        (sdk / name).write_bytes((PLUGINS / "python" / name).read_bytes())
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org")
    for step in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "all")):
        ran(*git, *step, cwd=folder)
    return folder


@pytest.mark.parametrize("place", ["folder", pytest.param("repository", marks=pytest.mark.needs("git"))])
async def test_the_python_package_is_what_a_hook_in_an_environment_of_its_own_runs_with(
    tmp_path: Path, place: str
) -> None:
    lines = [line for block in blocks(PLUGINS / "python" / "README.md", "console") for line in block.splitlines()]
    shown = {"folder": lines[0], "repository": lines[1]}[place]
    here = ROOT if place == "folder" else repository(tmp_path / "repository")
    (source,) = shlex.split(shown.replace("/where/hookgate", str(here)), comments=True)[3:]
    wheel = wheel_of(source, tmp_path)
    ran(sys.executable, "-m", "venv", "--without-pip", "own", cwd=tmp_path)
    python = tmp_path / "own" / "bin" / "python"
    ran(*PIP, "--python", python, "install", "--no-index", str(wheel), cwd=tmp_path)
    about = "import importlib.metadata as m; print(m.version('hookgate-plugin'), m.requires('hookgate-plugin'))"
    shown = "print(*sorted(f.name for f in m.files('hookgate-plugin') if f.suffix == '.py'))"
    files = f"import importlib.metadata as m; {shown}"
    assert ran(python, "-c", about, cwd=tmp_path) == f"{version()} None\n"
    assert ran(python, "-c", files, cwd=tmp_path) == "hookgate_extension.py hookgate_plugin.py\n"
    (hook,) = blocks(PLUGINS / "python" / "README.md", "python")
    (tmp_path / "hook.py").write_text(hook)
    async with open_child([python, tmp_path / "hook.py"]) as child:
        assert (await child.call("hook.hello", HELLO))["ok"] is True
        assert (await child.call("hook.before_tool", RM))["action"] == "deny_tool"


def version() -> str:
    (found,) = re.findall(r'^__version__ = "(.+)"', (PLUGINS / "python" / "hookgate_plugin.py").read_text(), re.M)
    return found


async def test_a_go_hook_is_built_in_an_empty_folder_by_the_lines_of_the_page(tmp_path: Path) -> None:
    page = PLUGINS / "go" / "README.md"
    (tmp_path / "main.go").write_text(blocks(page, "go")[0])
    (console,) = (block for block in blocks(page, "console") if "go mod init" in block)
    steps = [shlex.split(line.removeprefix("$ ")) for line in console.splitlines()]
    assert steps.pop() == ["hookgate", "hooks", "check", "--", "./guard"]
    for program, *words in steps:
        assert program == "go"
        run_go(*(word.replace("/where/hookgate", str(ROOT)) for word in words), cwd=tmp_path)
    async with open_child([tmp_path / "guard"]) as child:
        assert (await child.call("hook.hello", HELLO))["ok"] is True
        assert (await child.call("hook.before_tool", RM))["action"] == "deny_tool"


async def test_the_go_hook_that_asks_and_brings_a_tool_does_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "main.go").write_text(blocks(PLUGINS / "go" / "README.md", "go")[1])
    (tmp_path / "go.mod").write_text(
        "module helper\n\ngo 1.21\n\nrequire hookgate.internal/plugin v0.1.0\n\n"
        f"replace hookgate.internal/plugin => {PLUGINS / 'go'}\n"
    )
    run_go("build", "-o", "helper", ".", cwd=tmp_path)
    async with open_child([tmp_path / "helper"]) as child:
        hello = await child.call("hook.hello", {**HELLO, "stages": ["before_tool", "approve_tool"]})
        assert [it["function"]["name"] for it in hello["tools"]] == ["time_in"]
        push = {"tool": "bash", "arguments": {"command": "git push"}}
        assert (await child.call("hook.approve_tool", push))["ask"] == {"title": "Push?", "ttl_s": 300}
        answers = [
            await child.call("hook.before_tool", {"tool": "time_in", "arguments": {"zone": zone}})
            for zone in ("UTC", "Nowhere/None")
        ]
    assert [it["result"]["is_error"] for it in answers] == [False, True]
    assert answers[0]["result"]["for_llm"].endswith(" UTC")


def test_the_go_module_may_come_from_a_repository_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `replace`, with a version: here from a folder that is laid out as a proxy of such repositories is."""
    path, version = "example.org/team/hookgate/plugins/go", "v0.1.0"
    proxy = tmp_path / "proxy" / path / "@v"
    proxy.mkdir(parents=True)
    (proxy / f"{version}.info").write_text(f'{{"Version": "{version}"}}')
    shutil.copy(PLUGINS / "go" / "go.mod", proxy / f"{version}.mod")
    with ZipFile(proxy / f"{version}.zip", "w") as archive:
        for file in [PLUGINS / "go" / "go.mod", *(PLUGINS / "go").glob("*/*.go")]:
            archive.write(file, f"{path}@{version}/{file.relative_to(PLUGINS / 'go').as_posix()}")
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "main.go").write_text(blocks(PLUGINS / "go" / "README.md", "go")[0])
    offline = {"GOPROXY": f"file://{tmp_path / 'proxy'}", "GOSUMDB": "off", "GOMODCACHE": str(tmp_path / "cache")}
    monkeypatch.setattr(gotool, "OFFLINE", {**gotool.OFFLINE, **offline, "GOFLAGS": "-mod=mod -modcacherw"})
    run_go("mod", "init", "guard", cwd=hook)
    needs = "hookgate.internal/plugin"
    run_go("mod", "edit", "-require", f"{needs}@{version}", "-replace", f"{needs}={path}@{version}", cwd=hook)
    run_go("build", "-o", "guard", ".", cwd=hook)
    assert (hook / "guard").is_file()
