"""Which panel is open, and in which chat: one at a time over all extensions.

Knows neither how it is shown nor how its owner is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookgate.protocol.dataclasses import dataclass, replace

if TYPE_CHECKING:
    from hookgate.protocol.chat import Chat
    from hookgate.protocol.zot.frames import Panel


@dataclass(frozen=True, slots=True)
class Opened:
    """`chat`: where it was opened; None: nobody's."""

    extension: str
    panel: Panel
    chat: Chat | None = None

    def is_of(self, extension: str, panel_id: str) -> bool:
        return (self.extension, self.panel.id) == (extension, panel_id)

    def stands_where(self, other: Opened) -> bool:
        """The same panel in the same chat, whatever it looks like."""
        return self.is_of(other.extension, other.panel.id) and self._place == other._place

    @property
    def _place(self) -> str:
        return self.chat.session_key if self.chat is not None else ""


class Panels:
    """What an extension says of a panel counts only while that very panel of its is open."""

    def __init__(self) -> None:
        self.current: Opened | None = None

    def open(self, extension: str, panel: Panel, chat: Chat | None = None) -> Opened | None:
        """What is open no more, if anything is: another panel, or this one where another chat had it. Opened again in
        nobody's chat it stays where it was."""
        before = self.current
        if before is not None and chat is None and before.is_of(extension, panel.id):
            chat = before.chat
        self.current = now = Opened(extension, panel, chat)
        return None if before is None or before.stands_where(now) else before

    def render(self, extension: str, panel: Panel) -> Opened | None:
        """The panel as it looks now; None when it is not the open one. An empty title keeps the old one."""
        current = self.current
        if current is None or not current.is_of(extension, panel.id):
            return None
        self.current = replace(current, panel=replace(panel, title=panel.title or current.panel.title))
        return self.current

    def close(self, extension: str, panel_id: str) -> bool:
        """Its owner closes it; whether it was open."""
        current = self.current
        if current is None or not current.is_of(extension, panel_id):
            return False
        self.current = None
        return True

    def dismiss(self) -> Opened | None:
        """The user closes whatever is open."""
        current, self.current = self.current, None
        return current
