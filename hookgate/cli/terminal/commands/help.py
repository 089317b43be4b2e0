"""The help of a chat: what can be typed at its prompt."""

from __future__ import annotations

from hookgate.cli.printing import aligned, width_shown
from hookgate.loop.commands.table import Commands
from hookgate.protocol.chat import Chat

WHEN = (
    "A message that is sent while a turn runs waits for its end, and so does /compact. hookgate's other commands act "
    "at once; what an extension's leads to, a message or a call, waits where it must."
)
BETWEEN = (
    "Lines are read one by one, commands among them: what is typed while a turn runs is read once that has ended. On "
    "a terminal Ctrl-C, which ends the turn, drops it."
)
KEYS = (
    ("Enter", "send"),
    ("Alt-Enter, Ctrl-J", "a new line; so does Enter behind a \\"),
    ("Up, Down, Ctrl-R", "what was sent before; search in it; a message behind a blank is not kept"),
    ("Tab", "complete a command, its arguments, the name of a file"),
    ("Ctrl-C", "end the running turn; else take away what is typed; once more: leave"),
    ("Ctrl-D", "leave, where nothing is typed"),
    ("Ctrl-Z", "give the terminal to the shell, until fg"),
)


def help_text(commands: Commands, chat: Chat, *, keys: bool) -> str:
    """Extensions' commands come last. `keys`: lines are edited."""
    listed, width = commands.listed(chat), width_shown()
    own, brought = [it.row for it in listed if not it.extension], [it.row for it in listed if it.extension]
    rows = [*own, ("//TEXT", "say /TEXT to the model, instead of a command"), *brought]
    from textwrap import wrap

    when = WHEN if keys else BETWEEN
    said = wrap(when, width - 1) if width else [when]
    return "\n".join(["Type a message and Enter.", *said, *aligned([*rows, *(KEYS if keys else ())], width)])
