"""What a chat says of lines that look like commands."""

from __future__ import annotations

from hookgate.loop.commands.table import LOOKS, Commands, no_command
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
