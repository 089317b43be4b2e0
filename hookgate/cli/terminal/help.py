"""The help of a chat: what can be typed at its prompt."""

from __future__ import annotations

from hookgate.cli.printing import aligned, width_shown
from hookgate.loop.commands.table import Commands
from hookgate.protocol.chat import Chat


def help_text(commands: Commands, chat: Chat) -> str:
    """Extensions' commands come last."""
    listed = commands.listed(chat)
    own, brought = [it.row for it in listed if not it.extension], [it.row for it in listed if it.extension]
    rows = [*own, ("//TEXT", "say /TEXT to the model, instead of a command"), *brought]
    first = "Type a message and Enter. Ctrl-C ends the running turn; at the prompt, Ctrl-C twice or Ctrl-D leaves."
    return "\n".join([first, *aligned(rows, width_shown())])
