"""What a command can reach, under every sandbox that this machine offers."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
import trio
from walls import open_sandbox

from hookgate.protocol.values import ToolCall
from hookgate.tools.builtin.bash import Bash
from hookgate.tools.errors import SandboxUnavailable
from hookgate.tools.kept import Kept
from hookgate.tools.shell import choosing
from hookgate.tools.shell import sandbox as module
from hookgate.tools.shell.sandbox import Sandbox, SandboxOptions
from tests.sandboxes import BWRAP, NO_LANDLOCK

ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / ".ssh").mkdir(parents=True)
    (folder / ".ssh" / "id").write_text("PRIVATE KEY")
    (folder / ".netrc").write_text("PASSWORD")
    (folder / "notes").write_text("harmless notes")
    return folder


PYTHON = os.path.realpath(sys.executable)
"""Not the environment's link to it: that may lie below /tmp, which a sandbox hides."""


@pytest.fixture(params=[pytest.param("bwrap", marks=BWRAP), pytest.param("landlock", marks=NO_LANDLOCK)])
async def confined(request: pytest.FixtureRequest, root: Path, home: Path, tmp_path: Path) -> AsyncIterator[Sandbox]:
    """Each kind in turn; a machine without one says so when it skips."""
    path = ENVIRONMENT["PATH"] if request.param == "bwrap" else str(tmp_path / "no-bwrap-here")
    kept = Kept(hidden=(tmp_path / "state",))
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "control.token").write_text("TOKEN")
    async with open_sandbox(root, {"PATH": path, "HOME": str(home)}, kept=kept) as sandbox:
        assert sandbox.kind == request.param, "it is here, but it does not hold"
        yield sandbox


async def sh(sandbox: Sandbox, command: str) -> str:
    """What the command says: without the echo of the command line, which would satisfy any assertion."""
    call = ToolCall("c", "bash", {"command": command, "timeout": 20})
    with trio.fail_after(30):
        text = (await Bash(sandbox, ENVIRONMENT).execute(call)).for_llm
    return text.removeprefix(f"$ {command}")


async def test_workspace_and_private_tmp_are_writable(confined: Sandbox, root: Path) -> None:
    text = await sh(
        confined,
        "mkdir -p d/e && echo hi > d/e/f && mv d/e/f g && ln g h && rm h && echo t > $TMPDIR/t && cat $TMPDIR/t g",
    )
    assert "\n\nt\nhi\n\n[exit 0]" in text
    assert (root / "g").read_text() == "hi\n"


async def test_ordinary_programs_run(confined: Sandbox) -> None:
    text = await sh(confined, f"seq 3 | sort -r > /dev/null && {PYTHON} -c 'print(6 * 7)' && ls / > /dev/null")
    assert "\n\n42\n\n[exit 0]" in text


@pytest.mark.parametrize("target", ["{home}/owned", "{home}/notes", "/etc/hookgate-owned", "{outside}/owned"])
async def test_everything_else_is_read_only(confined: Sandbox, home: Path, tmp_path: Path, target: str) -> None:
    target = target.format(home=home, outside=tmp_path)
    text = await sh(confined, f"echo owned > {target} || echo refused")
    # bwrap's own empty /tmp may take the file; what counts is what stands on the disk.
    assert "refused" in text or (confined.kind == "bwrap" and target.startswith("/tmp/"))
    assert (home / "notes").read_text() == "harmless notes"
    assert not os.access("/etc/hookgate-owned", os.F_OK)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("trick", ["mount -o remount,bind,rw {outside}", "umount -l /tmp", "unshare -Urm true; cd /"])
async def test_a_command_cannot_take_its_walls_down(
    confined: Sandbox, tmp_path: Path, home: Path, trick: str
) -> None:
    trick = trick.format(outside=tmp_path)
    text = await sh(confined, f"({trick}) 2>/dev/null; echo owned > {tmp_path}/owned; cat {home}/.ssh/id")
    assert "PRIVATE KEY" not in text
    assert not (tmp_path / "owned").exists()


async def test_secrets_and_hidden_paths_cannot_be_read(confined: Sandbox, home: Path, tmp_path: Path) -> None:
    text = await sh(confined, f"cat {home}/.ssh/id {home}/.netrc {tmp_path}/state/control.token; cat {home}/.ssh/*")
    for secret in ("PRIVATE KEY", "PASSWORD", "TOKEN"):
        assert secret not in text


async def test_links_made_inside_do_not_lead_to_secrets(confined: Sandbox, home: Path) -> None:
    text = await sh(confined, f"ln -s {home}/.ssh/id key; cat key; ln {home}/.netrc hard; cat hard")
    assert "PRIVATE KEY" not in text
    assert "PASSWORD" not in text


async def test_the_environment_of_this_process_cannot_be_read(confined: Sandbox) -> None:
    text = await sh(confined, f"tr '\\0' '\\n' < /proc/{os.getpid()}/environ || echo refused")
    assert "refused" in text
    assert "PATH=" not in text


async def test_this_process_cannot_be_signalled(confined: Sandbox) -> None:
    assert "refused" in await sh(confined, f"kill -0 {os.getpid()} 2>/dev/null && echo reached || echo refused")


async def test_the_exit_status_and_the_timeout_work_inside(confined: Sandbox, root: Path) -> None:
    assert "[exit 7]" in await sh(confined, "exit 7")
    call = ToolCall("c", "bash", {"command": "echo begun; sleep 600 & wait", "timeout": 0.5})
    with trio.fail_after(30):
        assert "begun\n\n[exit -1]" in (await Bash(confined, ENVIRONMENT).execute(call)).for_llm


@pytest.mark.parametrize("network", [True, False])
async def test_the_network_is_open_unless_it_is_off(confined: Sandbox, network: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('connected')"
        text = await sh(replace(confined, network=network), f'{PYTHON} -c "{code}" 2>/dev/null || echo refused')
    assert ("\n\nconnected" in text) == network
    assert ("\n\nrefused" in text) != network


async def test_the_note_tells_a_person_what_holds(confined: Sandbox) -> None:
    assert confined.kind in confined.note.lower()
    assert ("stay reachable" in confined.note) == (confined.kind == "landlock")


async def test_off_is_no_sandbox_and_says_so(root: Path) -> None:
    async with open_sandbox(root, ENVIRONMENT, SandboxOptions(mode="off")) as sandbox:
        assert sandbox.kind == "none"
        assert "switched off" in sandbox.note
        assert sandbox.wrap(["x"]) == ["x"]


async def test_without_any_sandbox_auto_goes_on_loudly_and_required_refuses(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_LAUNCHER", Path("/no/such/launcher.py"))
    # A logger that no other test has made its own.
    structlog.reset_defaults()
    monkeypatch.setattr(choosing, "_log", structlog.get_logger())
    nowhere = {"PATH": "/nonexistent"}
    async with open_sandbox(root, nowhere) as sandbox:
        assert sandbox.kind == "none"
        assert "all rights" in sandbox.note
    assert "No sandbox works" in capsys.readouterr().out
    with pytest.raises(SandboxUnavailable, match="neither bwrap nor Landlock"):
        async with open_sandbox(root, nowhere, SandboxOptions(mode="required")):
            pass


async def test_a_bwrap_that_does_not_confine_is_not_believed(root: Path, tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    fake.chmod(0o755)
    async with open_sandbox(root, {"PATH": f"{fake.parent}:{os.environ['PATH']}"}) as sandbox:
        assert sandbox.kind != "bwrap"


async def test_the_private_folder_is_gone_afterwards(root: Path) -> None:
    async with open_sandbox(root, ENVIRONMENT) as sandbox:
        (sandbox.tmp / "x").touch()
        assert sandbox.tmp.stat().st_mode & 0o777 == 0o755
        assert sandbox.tmp.parent.stat().st_mode & 0o777 == 0o700
    assert not sandbox.tmp.parent.exists()


async def test_a_required_sandbox_is_not_one_that_leaves_what_is_kept_open(root: Path) -> None:
    kept = Kept(folders=(root / ".hookgate" / "skills",), told=(root / "AGENTS.md",))
    with pytest.raises(SandboxUnavailable, match=r"Landlock would let shell commands change AGENTS\.md, \.hookgate"):
        async with open_sandbox(root, {"PATH": "/nonexistent"}, SandboxOptions("required"), kept):
            pass


@NO_LANDLOCK
async def test_landlock_says_which_kept_files_a_command_can_change(root: Path, home: Path) -> None:
    environment = {"PATH": "/nonexistent", "HOME": str(home)}
    async with open_sandbox(root, environment, kept=Kept(folders=(root / ".zot" / "skills", home))) as sandbox:
        assert sandbox.kind == "landlock"
        assert sandbox.note.endswith("tells its models what to do: .zot.")


@NO_LANDLOCK
async def test_an_older_landlock_that_cannot_close_tcp_says_so_and_is_none_where_one_is_required(
    root: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, older = module._LAUNCHER, tmp_path / "launcher.py"
    older.write_text(own.read_text().replace("abi = _call(", "abi = 3 or _call("))
    monkeypatch.setattr(module, "_LAUNCHER", older)
    environment = {"PATH": "/nonexistent", "HOME": str(home)}
    async with open_sandbox(root, environment, SandboxOptions(network=False)) as sandbox:
        assert (sandbox.kind, sandbox.network) == ("landlock", False)
        assert "The network stays open: Landlock can close TCP from Linux 6.7 on." in sandbox.note
        assert "refused" in await sh(sandbox, f"cat {home}/.ssh/id || echo refused")
        closed = replace(sandbox, tcp_open=False)
        assert "it cannot close TCP on this kernel" in await sh(closed, "echo ran")
    with pytest.raises(SandboxUnavailable, match="a sandbox without network is required"):
        async with open_sandbox(root, environment, SandboxOptions("required", network=False)):
            pass


@BWRAP
async def test_bubblewrap_keeps_context_files_and_makes_none(root: Path, home: Path) -> None:
    kept = Kept(told=(root / "AGENTS.md", root / "CLAUDE.md"))
    (root / "AGENTS.md").write_text("Be brief.")
    async with open_sandbox(root, {"PATH": ENVIRONMENT["PATH"], "HOME": str(home)}, kept=kept) as sandbox:
        await sh(sandbox, "echo evil > AGENTS.md; rm -f AGENTS.md; echo evil > x && mv x AGENTS.md; rm -f x")
        assert os.listdir(root) == ["AGENTS.md"]
    assert (root / "AGENTS.md").read_text() == "Be brief."


@BWRAP
async def test_bubblewrap_keeps_a_part_of_the_workspace_read_only(root: Path, home: Path) -> None:
    (root / "hookgate.toml").write_text("[agent]")
    kept = Kept((root / "hookgate.toml",))
    async with open_sandbox(root, {"PATH": ENVIRONMENT["PATH"], "HOME": str(home)}, kept=kept) as sandbox:
        assert sandbox.kind == "bwrap"
        await sh(sandbox, "echo owned > hookgate.toml; rm -f hookgate.toml; echo fine > other")
    assert (root / "hookgate.toml").read_text() == "[agent]"
    assert (root / "other").read_text() == "fine\n"
