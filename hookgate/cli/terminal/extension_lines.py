"""What a chat says of its extensions: their commands, what keeps one from being loaded, what a reload has led to."""

from __future__ import annotations

import re

from hookgate.assembly.app import Runtime
from hookgate.assembly.extensions.looking import unloaded
from hookgate.cli.terminal.trust import Put, introduce
from hookgate.loop.commands import Commands
from hookgate.protocol.values import Inbound

_COMMAND = re.compile(r"(/[A-Za-z0-9_-]+)(\s.*)?", re.DOTALL)
"""What looks like a command; a path has another slash."""


def unknown(commands: Commands, inbound: Inbound) -> str:
    """Why a message that looks like a command is none that can be run; empty where it is one, or a plain message."""
    looks = _COMMAND.fullmatch(inbound.text.strip())
    if looks is None or commands.read(inbound) is not None:
        return ""
    if commands.named(looks[1].removeprefix("/"), inbound.chat) is None:
        return f"There is no command {looks[1]}; /help lists them."
    return f"{looks[1]} takes nothing behind it."


def literal(text: str) -> str:
    """The message that `//word` stands for: `/word`, which is no command then. Empty for everything else."""
    text = text.strip()
    return text[1:] if text.startswith("//") and _COMMAND.fullmatch(text[1:]) else ""


def problems(runtime: Runtime) -> tuple[str, ...]:
    """A line for each that could not be loaded; all else goes on."""
    return runtime.extensions.problems(runtime.mounts) if runtime.extensions else ()


def absent(runtime: Runtime) -> tuple[str, ...]:
    """A line for each that is not among the hooks."""
    return unloaded(runtime.extensions.found) if runtime.extensions else ()


def loaded(runtime: Runtime) -> tuple[str, ...]:
    return runtime.extensions.loaded(runtime.mounts) if runtime.extensions else ()


async def reloaded(runtime: Runtime, put: Put | None) -> str:
    """Stop them all, load what is there now; a line about it. `put` asks about those that nobody knows yet."""
    if runtime.extensions is not None:
        found = None
        if put is not None and runtime.settings.extensions is not None:
            found = await introduce(runtime.settings.config, runtime.settings.extensions, put)
        await runtime.extensions.reload(runtime.mounts, found)
    return f"· Extensions: {', '.join(loaded(runtime)) or 'none'}."
