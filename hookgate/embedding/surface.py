"""What extensions show to people, as events in the stream of the chat that it concerns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog

from hookgate.protocol.chat import Chat
from hookgate.protocol.rpc.events import Event, ExtClearNotes, ExtNotify, ExtPanel, ExtPanelClose
from hookgate.protocol.zot.surface import Unshown

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import Level, Panel

log = structlog.get_logger("hookgate.extensions")


class EventSurface(Unshown):
    """A Surface for all chats of one program, to which prompts are left. `tell`: whether there was room for it;
    `chat` None: it is for none."""

    def __init__(self, tell: Callable[[Event, Chat | None], bool]) -> None:
        self._tell = tell
        self._full = False
        self._panel_in: Chat | None = None

    def note(self, extension: str, level: Level, text: str, chat: Chat | None) -> None:
        full = not self._tell(ExtNotify(extension, level, text), chat)
        if full and not self._full:
            log.warning("extension_notes_dropped", extension=extension)
        self._full = full

    def clear_notes(self, extension: str) -> None:
        self._tell(ExtClearNotes(extension), None)

    def panel(self, extension: str, panel: Panel, chat: Chat | None) -> None:
        self._panel_in = chat
        self._tell(ExtPanel(extension, panel.id, panel.title, panel.lines, panel.footer), chat)

    def panel_close(self, extension: str, panel_id: str) -> None:
        self._tell(ExtPanelClose(extension, panel_id), self._panel_in)
