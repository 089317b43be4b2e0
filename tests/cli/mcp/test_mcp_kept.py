"""`hookgate mcp`: connections that a model made are seen, vouched for and forgotten, with or without a gateway."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
import structlog
import trio

from hookgate.assembly.tools.opening import More
from hookgate.cli.mcp.connections import approve_connection, forget_connection, list_connections
from hookgate.operations import mcp
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.catalog import ServerRow
from hookgate.store import open_store
from tests.cli.mcp.test_mcp import ODD, server
from tests.cli.program import DEADLINE_S, environment
from tests.cli.tools.tools_program import set_up

T = TypeVar("T")
ROW = ServerRow("odd", "stdio", {"command": [sys.executable, str(ODD), "good"]}, "model")


async def kept(folder: Path) -> Path:
    async with open_store(folder / "store.db") as store:
        await store.put_server(replace(ROW, workspace=str(folder)))
        await store.put_server(replace(ROW, name="elsewhere", workspace="/elsewhere"))
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, and no gateway of anybody's in sight."""
    monkeypatch.chdir(tmp_path)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    yield tmp_path
    structlog.reset_defaults()


@dataclass(frozen=True)
class Command:
    """`hookgate mcp ...` as functions: a process of its own for each would take too long."""

    printed: pytest.CaptureFixture[str]
    control: Path | None = None

    def list(self) -> list[str]:
        assert list_connections(None, self.control, as_json=False) == 0
        return self.printed.readouterr().out.splitlines()[1:]

    def approve(self, name: str = "odd", *, yes: bool = True) -> tuple[int, str]:
        return approve_connection(name, None, self.control, yes=yes), "".join(self.printed.readouterr())

    def forget(self, name: str = "odd") -> tuple[int, str]:
        return forget_connection(name, None, self.control, yes=True), "".join(self.printed.readouterr())


def test_what_is_configured_and_kept_is_listed_approved_and_forgotten(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(here, server("mine") + server("off", "enabled = false"))
    trio.run(kept, here)
    command = Command(capsys)
    rows = ["mine  configured  stdio  0 tools  by the operator", "off  disabled  stdio  0 tools  by the operator"]
    assert command.list() == [*rows, "odd  needs_approval  stdio  0 tools  by the model"]
    status, said = command.approve(yes=False)
    assert (status, "nobody can be asked here" in said) == (1, True)
    status, said = command.approve()
    assert (status, "odd is approved with 14 tools; it comes back with every start\n" in said) == (0, True)
    assert command.list() == [*rows, "odd  ok  stdio  0 tools  by the model  approved by the operator"]
    assert command.forget() == (0, "forgot the MCP connection odd\n")
    assert command.list() == rows
    for status, said in (command.approve(), command.forget("elsewhere")):
        assert (status, "is kept for this workspace" in said) == (1, True)
    status, said = command.forget("mine")
    assert (status, "stands in the configuration" in said) == (1, True)


GATEWAY = """
[agent]
model = "script/x"
[providers.script]
kind = "scripted"
script = "script.json"
[mcp]
model_may_connect = true
"""


@asynccontextmanager
async def gateway(folder: Path) -> AsyncGenerator[Path]:
    """A chat at a pipe, and its control socket."""
    (folder / "script.json").write_text("{}")
    socket = folder / "c.sock"
    command = [sys.executable, "-m", "hookgate", "chat", "--control", str(socket)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    async with trio.open_nursery() as nursery:
        chat = await nursery.start(partial(trio.run_process, command, check=False, cwd=folder, **pipes))
        said = b""
        async with chat.stdin:
            while b"for help" not in said:
                said += await chat.stdout.receive_some()
            yield socket
        async for _ in chat.stdout:
            pass


async def test_a_running_gateway_takes_what_is_approved_at_once_and_lets_go_what_is_forgotten(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await kept(set_up(here, GATEWAY))
    with trio.fail_after(2 * DEADLINE_S):
        async with gateway(here) as socket:
            command = Command(capsys, socket)
            assert await in_thread(command.list) == ["odd  needs_approval  stdio  0 tools  by the model"]
            assert (await in_thread(command.approve))[0] == 0
            assert await in_thread(command.list) == [
                "odd  up  stdio  14 tools  by the model  approved by the operator"
            ]
            assert (await in_thread(command.forget))[0] == 0
            assert await in_thread(command.list) == ["no connections"]
    async with open_store(here / "store.db") as store:
        assert [row.name for row in store.servers(str(here))] == []


async def in_thread(command: Callable[[], T]) -> T:
    return await trio.to_thread.run_sync(command)


async def test_a_gateway_without_connections_has_none_to_approve() -> None:
    assert await mcp.list_connections(More()) == ()
    with pytest.raises(OperationRefused, match="the configuration asks for none"):
        await mcp.show_connection(More(), "odd")
