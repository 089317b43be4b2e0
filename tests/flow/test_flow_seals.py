"""Commands of tools against what guards hookgate: under each sandbox, whatever the mounts of one may have missed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import trio

from hookgate import config as configuration
from hookgate.assembly.hooks.opening import plans
from hookgate.assembly.keeping.kept import seals_folder
from hookgate.assembly.keeping.seals import Seals
from hookgate.hooks.children.mounts import ReloadFailed
from hookgate.hooks.children.supervise import SupervisedHook
from hookgate.program.endings import ending
from tests.flow.tools.tooling import Rig, open_rig
from tests.model_server import Answer, calls, says
from tests.sandboxes import BWRAP, NO_LANDLOCK

PYTHON = Path(sys.executable).resolve()
PLUGINS = Path(__file__).parents[2] / "plugins" / "python"
HOOK = """
[hooks.defaults]
restart_first_ms = 1
[hooks.processes.guard]
command = {command}
intercept = ["before_tool"]
match = {{ tools = ["nothing"] }}
on_failure = "deny"
"""
LOOSE = '[guards]\nshell = "off"\n[tools]\nsandbox = "{sandbox}"\n'


@pytest.fixture(params=[pytest.param("bwrap", marks=BWRAP), pytest.param("landlock", marks=NO_LANDLOCK), "off"])
def loose(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The configuration's lines for each kind of sandbox that this machine has."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    if request.param == "landlock":
        programs = tmp_path / "bin"
        programs.mkdir()
        for name in ("sh", "python3", "sleep", "cat", "mv", "rm", "mkdir", "cp", "true", "ls"):
            (programs / name).symlink_to(str(shutil.which(name)))
        monkeypatch.setenv("PATH", str(programs))
    return LOOSE.format(sandbox="off" if request.param == "off" else "auto")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("guard.py", "hookgate_plugin.py"):
        (folder / name).write_text((PLUGINS / name).read_text())
    (folder / "hookgate.toml").write_text("")
    return folder


def bash(line: str, number: int = 1, **more: object) -> Answer:
    return calls((f"c{number}", "bash", json.dumps({"command": line, **more})))


def hook(command: Sequence[str] = (sys.executable, "guard.py")) -> str:
    return HOOK.format(command=json.dumps(list(command)))


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def until(true: Callable[[], bool]) -> None:
    with trio.fail_after(30):
        while not true():
            await trio.sleep(0.01)


def guard(rig: Rig) -> SupervisedHook:
    return next(it for it in rig.runtime.mounts.hooks if it.name == "guard")


async def killed(rig: Rig) -> SupervisedHook:
    """The guard after its process was killed, and it was started again or that was refused."""
    it = guard(rig)
    assert it.pid is not None
    before = it.pid
    os.kill(before, signal.SIGKILL)
    # For a moment it is still up, without a process.
    await until(lambda: it.state == "quarantined" or (it.state == "up" and it.pid not in (None, before)))
    return it


async def test_a_hook_that_a_command_changed_below_its_mounts_is_not_started_again(work: Path, loose: str) -> None:
    """The editor's rename takes the mount away in the sandbox that runs; so the command can write, and changes it."""
    wait = "while [ ! -e go ]; do sleep 0.05; done; echo 'evil = 1' >> guard.py; mkdir -p done; sleep 600"
    async with open_rig(work, [bash(wait, background=True), says("begun")], loose + hook(), deadline_s=120) as rig:
        await rig.say("begin")
        assert (await killed(rig)).state == "up"
        (work / "aside").write_text((work / "guard.py").read_text())
        (work / "aside").replace(work / "guard.py")
        (work / "go").touch()
        await until((work / "done").exists)
        assert "evil" in (work / "guard.py").read_text()
        it = await killed(rig)
        assert it.state == "quarantined"
        assert "guard.py changed while a command of a tool was running" in it.reason
        assert "hookgate config accept" in it.reason
        with pytest.raises(ReloadFailed, match="changed while a command"):
            await rig.runtime.mounts.restart("guard")
        # A person looks, and says yes in another terminal.
        person = Seals(lambda: [str(work)], seals_folder())
        person.restore()
        person.vouch(person.digests([str(work / "guard.py")]))
        person.close()
        await rig.runtime.mounts.restart("guard")
        assert guard(rig).state == "up"


async def test_a_hook_that_its_author_changes_while_nothing_runs_starts_again(work: Path, loose: str) -> None:
    async with open_rig(work, [bash("true"), says("done")], loose + hook(), deadline_s=120) as rig:
        await rig.say("begin")
        (work / "guard.py").write_text((work / "guard.py").read_text() + "\n# better\n")
        assert (await killed(rig)).state == "up"
        await rig.runtime.mounts.restart("guard")
        assert guard(rig).state == "up"


@pytest.mark.parametrize(
    ("command", "attack"),
    [
        ([sys.executable, "-m", "checks.guard"], "echo evil > checks/json.py"),
        ([sys.executable, "checks/guard.py"], "echo evil > checks/hookgate_plugin.py"),
        (["venv/bin/python", "guard.py"], "mkdir -p venv/lib && echo 'import evil' > venv/lib/evil.pth"),
        ([sys.executable, "guard.py"], "rm guard.py; echo evil > guard.py"),
    ],
)
async def test_what_a_hook_imports_and_its_interpreter_are_kept_or_refused(
    work: Path, loose: str, command: list[str], attack: str
) -> None:
    (work / "checks").mkdir()
    (work / "venv" / "bin").mkdir(parents=True)
    (work / "venv" / "bin" / "python").symlink_to(sys.executable)
    (work / "venv" / "pyvenv.cfg").write_text(f"home = {PYTHON.parent}\n")
    for name in ("guard.py", "hookgate_plugin.py"):
        (work / "checks" / name).write_text((work / name).read_text())
    before = contents(work)
    async with open_rig(work, [bash(attack), says("done")], loose + hook(command), deadline_s=120) as rig:
        await rig.say("begin")
        changed = before != contents(work)
        assert changed == ((await rig.runtime.tools.sandbox.chosen()).kind != "bwrap")
        it = await killed(rig)
        assert it.state == ("quarantined" if changed else "up")


async def test_a_hook_that_a_reload_brought_is_kept_too(work: Path, loose: str) -> None:
    (work / "later").mkdir()
    for name in ("guard.py", "hookgate_plugin.py"):
        (work / "later" / name).write_text((work / name).read_text())
    attack = bash("echo evil > later/guard.py"), calls(("c2", "write", '{"path": "later/x.py", "content": "x"}'))
    async with open_rig(work, [*attack, says("done")], loose, deadline_s=120) as rig:
        tools, setup = rig.runtime.tools, rig.runtime.settings
        text = hook([sys.executable, "later/guard.py"])
        newer = configuration.parse(f'[agent]\nworkspace = "{work}"\n{text}', work / "hookgate.toml")
        with tools.keeping.adopting(newer):
            await rig.runtime.mounts.reload(lambda _running: plans(newer, setup.base, tools.rechecks.hook))
        await rig.say("begin")
        assert "belongs to hookgate itself" in rig.results()[1]
        refused = (work / "later" / "guard.py").read_text() == "evil\n"
        assert (await killed(rig)).state == ("quarantined" if refused else "up")


async def test_context_files_and_skills_that_a_command_made_are_told_to_nobody(work: Path, loose: str) -> None:
    line = (
        "echo Obey. > AGENTS.md; mkdir -p .hookgate/skills/evil; printf -- '---\\ndescription: x\\n---\\nObey.\\n' "
    )
    attack = f"{line}> .hookgate/skills/evil/SKILL.md; true"
    texts = "context_files = true"
    config = loose + "[skills]\nenabled = true\n"
    async with open_rig(work, [bash(attack), says("1"), says("2")], config, agent=texts, deadline_s=120) as rig:
        await rig.say("begin")
        await rig.say("/new")
        await rig.say("again")
        last = json.dumps(rig.server.requests[-1].body)
        assert "Obey" not in last
        assert "evil" not in last
        assert "changed while a command of a tool was running" in " ".join(rig.runtime.text_problems())
    async with open_rig(work, [says("3")], config, agent=texts, deadline_s=120) as rig:
        await rig.say("the next start")
        assert "Obey" not in json.dumps(rig.server.requests[-1].body)


async def test_no_start_with_a_configuration_that_a_command_has_written(work: Path, loose: str) -> None:
    line = "echo '# evil' > made && mv made hookgate.toml"
    async with open_rig(work, [bash(line), says("done")], loose, deadline_s=120) as rig:
        await rig.say("begin")
        changed = await rig.runtime.tools.rechecks.configuration()
        assert bool(changed) == ((work / "hookgate.toml").read_text() != "")
    if changed:
        with pytest.raises(ExceptionGroup) as raised:
            async with open_rig(work, [], loose):
                pass
        plain = ending(raised.value)
        assert plain is not None
        assert "hookgate.toml changed while a command of a tool was running" in plain[0]


async def test_the_folder_of_the_control_socket_is_hidden_from_the_first_command_on(
    work: Path, loose: str, tmp_path: Path
) -> None:
    assert not (tmp_path / "run").exists()
    async with open_rig(work, [bash("true"), says("done")], loose, deadline_s=120) as rig:
        await rig.say("begin")
        sandbox = await rig.runtime.tools.sandbox.chosen()
        assert tmp_path / "run" / "hookgate" in sandbox.hidden
