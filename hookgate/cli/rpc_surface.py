"""What extensions show to people, as events of RPC."""

from __future__ import annotations

from collections.abc import Callable

from hookgate.protocol.rpc.events import Event, ExtClearNotes, ExtNotify, ExtPanel, ExtPanelClose
from hookgate.protocol.values import Chat
from hookgate.protocol.zot.frames import Level, Panel


class RpcSurface:
    """A Surface: there is one user, so it does not matter whose chat something is for."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell

    def note(self, extension: str, level: Level, text: str, chat: Chat | None) -> None:
        self._tell(ExtNotify(extension, level, text))

    def clear_notes(self, extension: str) -> None:
        self._tell(ExtClearNotes(extension))

    def panel(self, extension: str, panel: Panel, chat: Chat | None) -> None:
        self._tell(ExtPanel(extension, panel.id, panel.title, panel.lines, panel.footer))

    def panel_close(self, extension: str, panel_id: str) -> None:
        self._tell(ExtPanelClose(extension, panel_id))

    def submit(self, extension: str, text: str, chat: Chat | None) -> None:
        """Left out, as zot does: prompts are the other end's business."""
