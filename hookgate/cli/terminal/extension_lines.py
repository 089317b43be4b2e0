"""What a chat says of its extensions: their commands, what keeps one from being loaded, what a reload has led to."""

from __future__ import annotations

import re

from hookgate.assembly.app import Runtime
from hookgate.assembly.extensions.extensions import unloaded
from hookgate.cli.terminal.trust import Put, introduce
from hookgate.hooks.zot.roster import Command
from hookgate.loop.extensions.commands import RESERVED
from hookgate.protocol.values import Chat, Inbound

_COMMAND = re.compile(r"(/[A-Za-z0-9_-]+)(\s.*)?", re.DOTALL)
"""What looks like a command; a path has another slash."""


def brought(runtime: Runtime, chat: Chat) -> tuple[Command, ...]:
    """The commands of extensions."""
    return runtime.extensions.commands.listed(chat) if runtime.extensions else ()


def invoked(runtime: Runtime, inbound: Inbound) -> bool:
    """Whether it is one of them."""
    return runtime.extensions is not None and runtime.extensions.commands.read(inbound) is not None


def unknown(runtime: Runtime, inbound: Inbound) -> str:
    """Why a message that looks like a command is none that can be run; empty where it is one, or a plain message.

    For what the terminal has not taken as its own already.
    """
    looks = _COMMAND.fullmatch(inbound.text.strip())
    if looks is None or invoked(runtime, inbound):
        return ""
    command, given = looks[1], (looks[2] or "").strip()
    if command.removeprefix("/").lower() not in RESERVED:
        return f"There is no command {command}; /help lists them."
    return f"{command} takes nothing behind it." if given else ""


def literal(text: str) -> str:
    """The message that `//word` stands for: `/word`, which is no command then. Empty for everything else."""
    text = text.strip()
    return text[1:] if text.startswith("//") and _COMMAND.fullmatch(text[1:]) else ""


def help_rows(runtime: Runtime, chat: Chat) -> list[tuple[str, str]]:
    """Each command, and what it does."""
    return [(f"/{it.name}", f"{it.description} ({it.extension})") for it in brought(runtime, chat)]


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
        if put is not None and runtime.setup.extensions is not None:
            found = await introduce(runtime.setup.config, runtime.setup.extensions, put)
        await runtime.extensions.reload(runtime.mounts, found)
    return f"· Extensions: {', '.join(loaded(runtime)) or 'none'}."
