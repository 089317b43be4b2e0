"""The terminal of a conversation, with whoever sits at its keyboard."""

from __future__ import annotations

from hookgate import config as configuration
from hookgate.channels.terminal.channel import Terminal
from hookgate.channels.terminal.dialogue import WHOLE
from hookgate.cli.printing import screen_size
from hookgate.cli.terminal.keyboard import Keyboard
from hookgate.cli.terminal.pager import view


def seated(keyboard: Keyboard, *, piped: bool = False, plain: bool = False) -> Terminal:
    """The terminal with whoever sits at the keyboard. `piped`: lines of what is no terminal answer questions too.
    `plain`: answers are shown as they were written."""

    async def ask(prompt: str) -> str | None:
        try:
            return await keyboard.ask(prompt)
        except EOFError:
            return None

    def size() -> tuple[int, int]:
        columns, rows = screen_size()
        return columns, rows if keyboard.person else WHOLE

    async def view_text(text: str) -> bool:
        async with keyboard.lent():
            return await view(text)

    asked = ask if keyboard.person or piped else None
    rendered = keyboard.screen.live and not plain and configuration.wants_colour()
    return Terminal(keyboard.screen, asked, size, view_text if keyboard.person else None, rendered=rendered)
