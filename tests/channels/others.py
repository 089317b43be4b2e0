"""Servers after platforms' APIs that others have written, started for a test with the Node that the tests bring."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from tests.examples.programs import BUNDLED_NODE

NODE_MODULES = Path(sys.prefix) / "telegram-node" / "node_modules"


@asynccontextmanager
async def node(folder: Path, *arguments: str) -> AsyncGenerator[trio.Process]:
    process = await trio.lowlevel.open_process(
        [str(BUNDLED_NODE), *arguments],
        cwd=folder,
        env={"NODE_PATH": str(NODE_MODULES), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()
        assert process.stdout is not None
        await process.stdout.aclose()


async def first_line(process: trio.Process) -> str:
    said = b""
    assert process.stdout is not None
    while not said.endswith(b"\n"):
        said += await process.stdout.receive_some()
    return said.decode()
