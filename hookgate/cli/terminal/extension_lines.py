"""What a chat says of lines that look like commands, and of extensions that are loaded again."""

from __future__ import annotations

from collections.abc import Callable

from hookgate.assembly.app import Runtime
from hookgate.cli.agreeing import Put
from hookgate.cli.terminal.trust import introduce
from hookgate.loop.commands.table import LOOKS, Commands, no_command
from hookgate.operations.extensions import reload_extensions
from hookgate.protocol.chat import Inbound


def unknown(commands: Commands, inbound: Inbound) -> str:
    """Why a message that looks like a command is none that can be run; empty where it is one, or a plain message."""
    looks = LOOKS.fullmatch(inbound.text.strip())
    if looks is None or commands.read(inbound) is not None:
        return ""
    if commands.named(looks[1], inbound.chat) is None:
        return no_command(looks[1], commands.listed(inbound.chat))
    return f"/{looks[1]} takes nothing behind it."


def literal(text: str) -> str:
    """The message that `//word` stands for: `/word`, which is no command then. Empty for everything else."""
    text = text.strip()
    return text[1:] if text.startswith("//") and LOOKS.fullmatch(text[1:]) else ""


async def reloaded(runtime: Runtime, put: Put | None, tell: Callable[[str], None]) -> str:
    """Stop them all, load what is there now; a line about it. `put` asks about those that nobody knows yet."""
    found = None
    if put is not None and runtime.settings.extensions is not None:
        found = await introduce(runtime.settings.config, runtime.settings.extensions, put, tell)
    return f"· Extensions: {', '.join(await reload_extensions(runtime, found)) or 'none'}."
