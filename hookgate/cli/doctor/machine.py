"""The programs that hookgate makes use of where they are there, and its own extra. None of them is needed."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from pathlib import Path

import trio

from hookgate import __version__
from hookgate import config as configuration
from hookgate.cli.doctor.finding import Examined, Finding, failing, note, ok
from hookgate.cli.doctor.packages import found, install
from hookgate.processes.command import Command
from hookgate.processes.once import run_once
from hookgate.tools.mcp.transport import sdk

PATIENCE_S = 10.0
_WITHOUT: Mapping[str, tuple[str, str, str]] = {
    "rg": ("ripgrep", "--version", "grep reads large folders by itself, which takes longer"),
    "git": ("git", "--version", "`hookgate ext install` takes folders, but no git URL"),
    "node": ("node", "--version", "hooks and extensions written in JavaScript cannot run"),
    "go": ("Go", "version", "hooks and extensions written in Go cannot be built; built ones run"),
}
"""By program: what it is called, how it is asked for its version, what follows where it is missing."""


async def machine(it: Examined) -> list[Finding]:
    own = f"{__version__}, Python {platform.python_version()} at {sys.executable}, {platform.system()}"
    findings = {"": ok("hookgate", f"{own} {platform.release()}")}

    async def program(name: str) -> None:
        findings[name] = await _program(name)

    async with trio.open_nursery() as nursery:
        for name in _WITHOUT:
            nursery.start_soon(program, name)
    return [*(findings[name] for name in ("", *_WITHOUT)), _extra(it)]


async def _program(name: str) -> Finding:
    called, question, without = _WITHOUT[name]
    path = found(name)
    if path is None:
        return note(called, f"there is no {name} on PATH: {without}", install(name))
    version = await _version(path, question)
    return ok(called, f"{version} ({path})") if version else note(called, f"{path} does not run: {without}")


async def _version(path: str, question: str) -> str:
    """The first line of what it says of itself; empty where it says nothing, or fails."""
    try:
        printed = await run_once(Command([path, question], Path.cwd(), configuration.base_environment(), PATIENCE_S))
    except OSError:
        return ""
    return printed.output.decode("utf-8", "replace").strip().partition("\n")[0] if printed.status == 0 else ""


def _extra(it: Examined) -> Finding:
    if sdk.installed():
        return ok("MCP extra", "installed")
    mcp = it.config.mcp
    needed = mcp.model_may_connect or any(server.enabled for server in mcp.servers.values())
    return failing(
        "MCP extra",
        "not installed: hookgate connects to no MCP server",
        f'{sys.executable} -m pip install "hookgate[mcp]"',
        needed=needed,
    )
