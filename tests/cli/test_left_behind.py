"""What descends from hookgate ends with it: children of every kind, whatever they do, however hookgate ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trio

from hookgate.processes.guardian import descendants
from tests.cli.program import HOOKGATE, none_left, open_terminal, processes_of
from tests.cli.rpc_client import Client, Frame, open_rpc, scripted
from tests.cli.zot.zot_folders import EXTENSION, extension
from tests.processes import below, gone, running, until

CHILDREN = Path(__file__).parents[1] / "children"
ODD = CHILDREN.parent / "tools" / "mcp" / "servers" / "odd.py"
RUNAWAY = [sys.executable, str(CHILDREN / "runaway.py")]
LEFT = 4
"""Processes that a runaway leaves behind."""


def runaway(file: Path, *command: str) -> list[str]:
    return [*RUNAWAY, str(file), *command]


def section(name: str, command: list[str], more: str = "") -> str:
    words = ", ".join(f'"{word}"' for word in command)
    return f"[{name}]\ncommand = [{words}]\n{more}\n"


def tails(file: Path) -> int:
    """How many processes that were left behind hold this file."""
    line = b"tail\0-n\x000\0-f\0" + str(file).encode() + b"\0"
    return sum(it.line == line for it in running())


def configured(folder: Path) -> Path:
    """Hooks, an MCP server and, by the script, a made tool, a command in the background and one that does not end."""
    for name in ("good", "deaf", "mcp", "zot", "made", "aside", "bash"):
        (folder / name).touch()
    hook = [sys.executable, str(CHILDREN / "hook.py")]
    more = section("hooks.processes.good", runaway(folder / "good", *hook, "stubborn"), 'intercept = ["before_tool"]')
    more += section("hooks.processes.deaf", runaway(folder / "deaf", *hook, "deaf"), 'observe = ["*"]')
    more += section("mcp.servers.odd", runaway(folder / "mcp", sys.executable, str(ODD), "good"))
    more += f'[dynamic]\nenabled = true\nfolder = "{folder}/tools"\n[store]\npath = "{folder}/store.db"\n'
    more += '[guards]\nshell = "off"\n'
    body = (
        "import subprocess\n"
        "null = subprocess.DEVNULL\n"
        f"command = ['tail', '-n', '0', '-f', '{folder}/made']\n"
        "subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True)\n"
        "return 'made'\n"
    )
    # Of what lies below /tmp a command in the sandbox sees the workspace alone.
    script = shutil.copy(CHILDREN / "runaway.py", folder)
    program = [os.path.realpath(sys.executable), str(script)]
    aside, bash = (
        " ".join([*program, str(folder / name), "tail", "-n", "0", "-f", str(folder / name)])
        for name in ("aside", "bash")
    )
    return scripted(
        folder,
        calls("new_tool", name="leave", description="d", body=body),
        calls("leave"),
        calls("bash", command=aside, background=True),
        calls("bash", command=bash),
        more=more,
    )


ANEW = (*HOOKGATE, "rpc")


def calls(name: str, /, **arguments: object) -> Frame:
    return {"calls": [{"name": name, "arguments": arguments}]}


@asynccontextmanager
async def everything(folder: Path) -> AsyncGenerator[Client]:
    """A program with all its children up, and everything that they have left."""
    zot = runaway(folder / "zot", sys.executable, str(EXTENSION), "plain", "[]", str(folder))
    directory = extension(folder, "ext", exec=zot[0], args=zot[1:])
    async with open_rpc(configured(folder), "--rpc-approvals", "-e", str(directory), command=ANEW) as client:
        await client.send("prompt", message="go")
        asked = (await client.until("approval_request"))[-1]
        await client.send("approve", approval=asked["approval"], approved=True)
        for name in ("good", "deaf", "mcp", "zot"):
            await until(lambda name=name: tails(folder / name) == LEFT)
        for name in ("aside", "bash"):
            await until(lambda name=name: tails(folder / name) == LEFT + 1)
        assert tails(folder / "made") == 1
        try:
            yield client
        finally:
            for pid in processes_of(folder):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def worker(client: Client) -> int:
    """The process below the one that was started: hookgate itself."""
    (found,) = (it.pid for it in below(client.process.pid) if it.parent == client.process.pid)
    return found


ASIDE = (
    "setsid env -i PATH={path} setsid sh -c 'touch {folder}/there; exec tail -n 0 -f {folder}/aside' "
    ">/dev/null 2>&1 & "
    "while [ ! -e {folder}/there ]; do sleep 0.05; done"
)
"""Out of the command's group and session, with next to nothing in its environment."""


@pytest.mark.parametrize("sandbox", ["auto", "off"])
async def test_what_a_command_leaves_in_a_session_of_its_own_ends_with_it(tmp_path: Path, sandbox: str) -> None:
    """It could change what guards hookgate once nobody looks."""
    (tmp_path / "aside").touch()
    aside = calls("bash", command=ASIDE.format(folder=tmp_path, path=os.environ["PATH"]))
    folder = scripted(tmp_path, aside, more=f'[guards]\nshell = "off"\n[tools]\nsandbox = "{sandbox}"\n')
    async with open_rpc(folder) as client:
        await client.send("prompt", message="go")
        await client.until("tool_result")
        assert (tmp_path / "there").exists()
        assert tails(tmp_path / "aside") == 0
        assert await client.ends() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
async def test_nothing_outlives_a_signal_to_the_program(tmp_path: Path, number: signal.Signals) -> None:
    async with everything(tmp_path) as client:
        client.process.send_signal(number)
        assert await client.exits() == (-number if number == signal.SIGKILL else 128 + number)
        await none_left(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
async def test_nothing_outlives_a_crash(tmp_path: Path, number: signal.Signals) -> None:
    async with everything(tmp_path) as client:
        os.kill(worker(client), number)
        assert await client.exits() == -number
        await none_left(tmp_path)


async def test_nothing_outlives_an_ordinary_end(tmp_path: Path) -> None:
    async with everything(tmp_path) as client:
        await client.send("abort")
        assert await client.ends() == 0
        # The guardian is the last to go, so nothing has to be waited for.
        assert [it.line for it in running() if str(tmp_path).encode() in it.line] == []


async def test_a_guardian_that_somebody_stopped_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path), command=ANEW) as client:
        await client.ask("get_state")
        client.process.send_signal(signal.SIGSTOP)
        assert await client.ends() == 0


@pytest.mark.parametrize("whole_group", [False, True])
async def test_a_chat_on_a_terminal_ends_with_all_that_it_has_started(tmp_path: Path, whole_group: bool) -> None:
    (tmp_path / "hook").touch()
    command = runaway(tmp_path / "hook", sys.executable, str(CHILDREN / "hook.py"), "stubborn")
    scripted(tmp_path, more=section("hooks.processes.good", command, 'intercept = ["before_tool"]'))
    async with open_terminal(tmp_path, "chat", anew=True) as screen:
        await screen.sees("> ")
        await until(lambda: tails(tmp_path / "hook") == LEFT)
        if whole_group:
            os.killpg(screen.process.pid, signal.SIGTERM)
        else:
            screen.process.send_signal(signal.SIGTERM)
        assert await screen.ends() == 0
        await none_left(tmp_path)


async def test_ctrl_c_on_a_terminal_comes_once(tmp_path: Path) -> None:
    """The guardian stands in the same group, and would hand on a second one, which leaves the chat."""
    async with open_terminal(scripted(tmp_path), "chat") as screen:
        await screen.sees("> ")
        await screen.type("\x03")
        await screen.sees("Ctrl-C again or Ctrl-D to leave")
        await screen.line("/quit")
        assert await screen.ends() == 0


# As a script starts what runs in the background.
IGNORING = ("sh", "-c", 'trap "" INT; exec "$0" "$@"')


@pytest.mark.parametrize("started", [(), IGNORING])
async def test_a_command_without_a_say_about_sigterm_ends_in_order(tmp_path: Path, started: tuple[str, ...]) -> None:
    async with open_rpc(tmp_path, command=(*started, *HOOKGATE, "demo", "--interactive")) as client:
        await until(lambda: len(below(client.process.pid)) > 2)
        pids = [it.pid for it in below(client.process.pid)]
        client.process.terminate()
        assert await client.exits() == 128 + signal.SIGTERM
        await gone(*pids)


OTHER = """
import subprocess, sys
from hookgate.processes.guardian import under_guardian
with under_guardian():
    subprocess.run(sys.argv[1:], check=True)
    ENDING
"""


@pytest.mark.parametrize(("ending", "status"), [("pass", 0), ("sys.exit(3)", 3), ("raise ValueError", 1)])
async def test_another_program_may_stand_under_a_guardian_too(tmp_path: Path, ending: str, status: int) -> None:
    (tmp_path / "file").touch()
    command = [sys.executable, "-c", OTHER.replace("ENDING", ending), *runaway(tmp_path / "file", "true")]
    ended = await trio.run_process(command, check=False, capture_stderr=True)
    assert ended.returncode == status
    assert (b"ValueError" in ended.stderr) == (status == 1)
    assert tails(tmp_path / "file") == 0


def test_what_ends_while_somebody_looks_for_all_that_descends_from_it_hides_none_of_the_others() -> None:
    """Of three hundred looks a dozen meet a process that has just gone: whoever ends them all must not stop there."""
    churning = [subprocess.Popen(["sh", "-c", "while :; do (true); done"]) for _ in range(2)]
    try:
        for _ in range(300):
            assert {it.pid for it in churning} <= set(descendants.below(os.getpid()))
    finally:
        for it in churning:
            it.kill()
            it.wait()
