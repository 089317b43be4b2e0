"""What extensions show at the terminal beside the conversation: notes, one panel, text for the editor, messages.

Knows no extension and no key; whoever prompts looks here for what has come up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import trio

from hookgate.channels.terminal.channel import Terminal
from hookgate.channels.terminal.panels import AWAITS, CLOSES
from hookgate.protocol.chat import Chat

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import Level, Panel

MAX_SUBMITTED = 16
"""Messages of extensions that wait for the prompt; more are dropped, with a line that says so."""
_COLOURS: dict[Level, str] = {"success": "\x1b[32m", "warn": "\x1b[33m", "error": "\x1b[31m"}
_USUAL = "\x1b[39m"


class TerminalSurface:
    """Where the screen is not live a panel is text, and text for an editor is shown. `displays`: what a command
    displays is shown as a note; else it is sent, as an answer."""

    def __init__(self, terminal: Terminal, *, displays: bool = True) -> None:
        self.displays = displays
        self.panel_open: tuple[str, Panel] | None = None
        self.inserted = ""
        self._terminal = terminal
        self._submitted: deque[tuple[str, bool]] = deque()
        self._hint = AWAITS
        self.stirred = trio.Event()
        """Set when there is something for whoever prompts; the next one is another event."""

    def note(self, extension: str, level: Level, text: str, chat: Chat | None) -> None:
        self._show(extension, text, _COLOURS.get(level, ""))

    def clear_notes(self, extension: str) -> None:
        """What is printed stays printed."""

    def panel(self, extension: str, panel: Panel, chat: Chat | None) -> None:
        before, self.panel_open = self.panel_open, (extension, panel)
        if self._terminal.screen.live:
            self._terminal.draw(panel, self._hint)
            self._stir()
        elif before != self.panel_open:
            self._show(extension, "\n".join(filter(None, (panel.title, *panel.lines, panel.footer))))

    def panel_close(self, extension: str, panel_id: str) -> None:
        opened = self.panel_open
        if opened is None or (opened[0], opened[1].id) != (extension, panel_id):
            return
        self.panel_open = None
        if self._terminal.screen.live:
            self._terminal.erase()
        self._stir()

    def submit(self, extension: str, text: str, chat: Chat | None) -> None:
        self._submit(extension, text, typed=False)

    def submit_slash(self, extension: str, text: str, chat: Chat | None) -> None:
        self._submit(extension, text, typed=True)

    def _submit(self, extension: str, text: str, *, typed: bool) -> None:
        if len(self._submitted) >= MAX_SUBMITTED:
            self._show(extension, "a message of this extension was dropped: too many wait")
            return
        self._show(extension, text)
        self._submitted.append((text, typed))
        self._stir()

    def insert(self, text: str) -> None:
        """For the next prompt."""
        if self._terminal.screen.live:
            self.inserted = text
            self._stir()
        else:
            self._terminal.between(text)

    # --- for whoever prompts ---

    @property
    def submits(self) -> bool:
        """A message of an extension waits."""
        return bool(self._submitted)

    def take_submitted(self) -> tuple[str, bool] | None:
        """The next message that an extension wants said, and whether it counts as typed: a command may be one."""
        return self._submitted.popleft() if self._submitted else None

    def take_inserted(self) -> str:
        text, self.inserted = self.inserted, ""
        return text

    @contextmanager
    def takes_keys(self) -> Generator[None]:
        """The open panel says so while it does."""
        self._hint_at(CLOSES)
        try:
            yield
        finally:
            self._hint_at(AWAITS)

    def _hint_at(self, hint: str) -> None:
        self._hint = hint
        if self.panel_open is not None:
            self._terminal.draw(self.panel_open[1], hint)

    def _stir(self) -> None:
        self.stirred.set()
        self.stirred = trio.Event()

    def _show(self, extension: str, text: str, colour: str = "") -> None:
        name = f"{colour}[{extension}]{_USUAL if colour else ''}"
        self._terminal.painted("\n".join(f"{name} {line}" for line in text.splitlines() or [""]))
