"""The RPC clients in four languages: each runs as its page says, with `zot` on PATH being `hookgate rpc`."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import pytest
import trio

from tests.examples.programs import BUNDLED_NODE
from tests.gotool import run_go
from tests.machine import Without
from tests.model_server import calls, fails, open_model_server, says
from tests.preloaded import preloaded

RPC = Path(__file__).parents[2] / "examples" / "rpc"
DEADLINE_S = 60.0
CLIENTS = ("python", "node", "go", pytest.param("shell", marks=pytest.mark.needs("jq")))
# What a model's refusal leads to: the Go client prints it and goes on.
ON_ERROR = {"python": 1, "node": 1, "go": 0, "shell": 1}


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


@pytest.fixture(scope="session")
def go_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rpc-go")
    run_go("vet", ".", cwd=RPC / "go")
    run_go("build", "-o", f"{folder}/client", ".", cwd=RPC / "go")
    return folder / "client"


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def command(client: str, request: pytest.FixtureRequest) -> list[str]:
    """How that client is started."""
    match client:
        case "python":
            return [sys.executable, str(RPC / "python" / "client.py")]
        case "node":
            return [str(BUNDLED_NODE), str(RPC / "node" / "client.mjs")]
        case "go":
            return [str(request.getfixturevalue("go_client"))]
        case _:
            return ["/bin/bash", str(RPC / "shell" / "client.sh")]


ZotCommand = Callable[[str], Path]


@pytest.fixture
def zot_command(tmp_path: Path) -> ZotCommand:
    """Puts a program `zot` into a folder for PATH. It takes `rpc` alone, as clients of zot start it."""

    def put(shell: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        path = folder / "zot"
        path.write_text(f'#!/bin/sh\n[ "$*" = rpc ] || exit 64\n{shell}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return folder

    return put


def hookgate_rpc(base_url: str) -> str:
    flags = f"--provider openai --model gpt-4o-mini --base-url {base_url} --api-key k --no-ext"
    return f"exec {shlex.join(preloaded())} rpc {flags}"


async def run(command: list[str], zot: Path, *words: str, **env: str) -> Ran:
    """The client in a folder of its own, with one more program on PATH."""
    own = {"HOME": str(zot.parent), "XDG_RUNTIME_DIR": str(zot.parent)}
    environment = {**os.environ, **own, "PATH": f"{zot}{os.pathsep}{os.environ['PATH']}", **env}
    workspace = zot.parent / "workspace"
    workspace.mkdir(exist_ok=True)
    with trio.fail_after(DEADLINE_S):
        done = await trio.run_process(
            [*command, *words],
            stdin=subprocess.DEVNULL,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            env=environment,
            cwd=workspace,
        )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


async def test_it_prints_the_reply_the_calls_and_the_cost(command: list[str], zot_command: ZotCommand) -> None:
    text = "two words\u2028and a line"
    async with open_model_server(
        calls(("c1", "ls", '{"path":"."}')), says("two ", "words\u2028", "and a line")
    ) as model:
        ran = await run(command, zot_command(hookgate_rpc(model.base_url)), "what", "is", "here?")
        asked = [message["content"] for message in model.requests[0].body["messages"] if message["role"] == "user"]
    assert ran.status == 0, ran
    assert asked == ["what is here?"]
    call = r'\n?\[ls \{"path": ?"\."\}\]\n'
    cost = re.fullmatch(rf"{call}{text}\ncost: \$([0-9.e-]+)\n", ran.out)
    assert cost, ran
    assert float(cost[1]) > 0


async def test_a_model_that_refuses_is_told_and_ends_it(
    client: str, command: list[str], zot_command: ZotCommand
) -> None:
    async with open_model_server(fails(400, "no such parameter")) as model:
        ran = await run(command, zot_command(hookgate_rpc(model.base_url)), "hi")
    assert ran.status == ON_ERROR[client], ran
    assert re.search(r"^error: .+", ran.err, re.MULTILINE), ran


async def test_with_a_token_it_says_hello_first(command: list[str], zot_command: ZotCommand) -> None:
    async with open_model_server(says("hi")) as model:
        zot = zot_command(hookgate_rpc(model.base_url))
        ran = await run(command, zot, "hi", ZOTCORE_RPC_TOKEN='a "secret" & more')
    assert ran.status == 0, ran
    assert ran.out.startswith("hi\ncost: $")


async def test_a_token_that_is_refused_is_a_failure(command: list[str], zot_command: ZotCommand) -> None:
    zot = zot_command(f"export ZOTCORE_RPC_TOKEN=another\n{hookgate_rpc('http://127.0.0.1:1')}")
    ran = await run(command, zot, "hi", ZOTCORE_RPC_TOKEN="mine")
    assert ran.status == 1, ran
    assert "hello: invalid token" in ran.err


async def test_without_a_message_it_has_one_of_its_own(command: list[str], zot_command: ZotCommand) -> None:
    async with open_model_server() as model:
        ran = await run(command, zot_command(hookgate_rpc(model.base_url)))
    assert ran.out.startswith("Say hello in one sentence.\n"), ran


@pytest.mark.parametrize("shell", ["exit 3", "cat >/dev/null; exit 0", "exec nothing-like-that"])
async def test_a_zot_that_ends_before_it_is_done_is_a_failure(
    command: list[str], zot_command: ZotCommand, shell: str
) -> None:
    if "cat" in shell and "shell" not in command[-1]:
        # It would wait for the end of stdin, which the others close only at the end of zot's words.
        shell = "head -n 1 >/dev/null"
    ran = await run(command, zot_command(shell), "hi")
    assert ran.status == 1, ran
    assert ran.err.strip()


async def test_no_zot_is_a_failure(command: list[str], tmp_path: Path) -> None:
    if jq := which("jq"):
        (tmp_path / "jq").symlink_to(jq)
    ran = await run(command, tmp_path, "hi", PATH=str(tmp_path))
    assert ran.status == 1, ran
    assert "zot" in ran.err


async def test_the_shell_client_without_jq_is_a_failure_that_names_it(
    zot_command: ZotCommand, without: Without
) -> None:
    without("jq")
    ran = await run(["/bin/bash", str(RPC / "shell" / "client.sh")], zot_command("cat"), "hi")
    assert ran.status != 0, ran
    assert "jq: command not found" in ran.err


async def test_the_python_client_kills_a_zot_that_lives_on(zot_command: ZotCommand) -> None:
    events = '{"type":"usage","cumulative":{"cost_usd":0}}\\n{"type":"done"}\\n'
    command = [sys.executable, str(RPC / "python" / "client.py")]
    ran = await run(command, zot_command(f"printf '{events}'; exec sleep 1000"), "hi")
    assert ran.status == 1, ran
    assert "timed out after 5 seconds" in ran.err
