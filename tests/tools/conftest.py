"""A workspace in a temporary folder, and the ways the tests call tools in it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import trio
from walls import open_sandbox
from website import Site, serving

from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.tools.builtin import Parts, builtin_tools
from hookgate.tools.dispatch import execute
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.shell.sandbox import Sandbox, SandboxOptions

Run = Callable[..., Coroutine[Any, Any, ToolResult]]

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(root)


@pytest.fixture
async def unconfined(root: Path) -> AsyncIterator[Sandbox]:
    async with open_sandbox(root, ENVIRONMENT, SandboxOptions(mode="off")) as sandbox:
        yield sandbox


@pytest.fixture
def run(workspace: Workspace, unconfined: Sandbox) -> Run:
    """`await run("read", path="x")` goes through the dispatcher, with a deadline round everything."""
    tools = {
        it.spec.name: it for it in builtin_tools(Parts(workspace, unconfined, ENVIRONMENT, allow_private_fetch=True))
    }

    async def run_tool(name: str, **arguments: Any) -> ToolResult:
        with trio.fail_after(30):
            return await execute(tools[name], ToolCall("call_1", name, arguments))

    return run_tool


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running
