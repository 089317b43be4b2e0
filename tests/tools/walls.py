"""A sandbox as the tests of tools want it: chosen before anything runs in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from hookgate.tools.kept import NOTHING, Kept
from hookgate.tools.shell.sandbox import Sandbox, SandboxOptions, open_shelter


@asynccontextmanager
async def open_sandbox(
    workspace: Path, environment: Mapping[str, str], limits: SandboxOptions | None = None, kept: Kept = NOTHING
) -> AsyncGenerator[Sandbox]:
    """The sandbox that was chosen, once it is."""
    async with open_shelter(workspace, environment, limits or SandboxOptions(), lambda: kept) as shelter:
        yield await shelter.chosen()
