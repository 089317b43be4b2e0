"""What walls round shell commands this machine offers, and what follows where they are thin."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from hookgate import config as configuration
from hookgate.assembly.settings import ExtensionFlags, Settings
from hookgate.assembly.tools.opening import open_toolset
from hookgate.cli.doctor.finding import Examined, Finding, broken, note, ok
from hookgate.cli.doctor.packages import found, install
from hookgate.config import ConfigError
from hookgate.loop.calls.execution_policy import Unredacted
from hookgate.processes.command import Command
from hookgate.processes.once import run_once
from hookgate.tools.errors import SandboxUnavailable
from hookgate.tools.shell.sandbox import Sandbox

PATIENCE_S = 10.0
_NAMESPACES = (
    "let ordinary users make user namespaces: sysctl kernel.unprivileged_userns_clone=1, on Ubuntu also "
    "sysctl kernel.apparmor_restrict_unprivileged_userns=0; in a container its runtime decides"
)


async def sandbox(it: Examined) -> list[Finding]:
    """The one that a start here would choose, with all that it would have to keep."""
    settings = Settings(it.config, it.base, it.file, extensions=ExtensionFlags(it.extensions))
    try:
        async with AsyncExitStack() as stack:
            tools = await open_toolset(stack, settings, Unredacted())
            return [await _judged(it, await tools.sandbox.chosen())]
    except SandboxUnavailable as error:
        return [broken("sandbox", str(error), await _remedy())]
    except ConfigError as error:
        return [broken("tools", str(error))]


async def _judged(it: Examined, chosen: Sandbox) -> Finding:
    if chosen.kind == "bwrap":
        return ok("sandbox", chosen.note)
    if it.config.tools.sandbox == "off":
        return note("sandbox", chosen.note, 'take sandbox = "off" out of [tools]')
    return note("sandbox", chosen.note, await _remedy())


async def _remedy() -> str:
    path = found("bwrap")
    if path is None:
        return install("bwrap")
    said = await _complaint(path)
    return f"{path} does not work here ({said}); {_NAMESPACES}" if said else _NAMESPACES


async def _complaint(bwrap: str) -> str:
    """What bubblewrap says of the least that is asked of it."""
    argv = [bwrap, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/true"]
    try:
        command = Command(argv, Path.cwd(), configuration.base_environment(), PATIENCE_S)
        printed = await run_once(command, errors=True)
    except OSError as error:
        return str(error.strerror)
    if printed.status is None:
        return f"no end within {PATIENCE_S:g} s"
    return printed.output.decode("utf-8", "replace").strip().rpartition("\n")[2]
