"""What extensions show to people, as events of RPC; of what nobody reads only the panel's last look is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from hookgate.protocol.chat import Chat
from hookgate.protocol.rpc.events import Event, ExtClearNotes, ExtNotify, ExtPanel, ExtPanelClose
from hookgate.protocol.zot.frames import Level, Panel
from hookgate.protocol.zot.panels import Opened
from hookgate.protocol.zot.surface import Unshown

if TYPE_CHECKING:
    from hookgate.embedding.metered import Room

OWN = "hookgate"
DROPPED = "{} notes of extensions were dropped: too much waited to be read"


class RpcSurface(Unshown):
    """A Surface for all chats of the one client.

    `full`: whether too much waits to be read already. Then notes are dropped and counted, and what becomes of the
    panel and which notes are taken back is told by `run` once there is room.
    """

    def __init__(self, tell: Callable[[Event, Chat | None], None], full: Callable[[], bool]) -> None:
        self._tell, self._full = tell, full
        self._dropped = 0
        self._cleared: set[str] = set()
        self._open: Opened | None = None
        self._told: Opened | None = None
        self._behind = trio.Event()

    async def run(self, room: Room) -> None:
        """Tell what could not be told at once, whenever there is room again, until cancelled."""
        while True:
            await self._behind.wait()
            await room()
            self._behind = trio.Event()
            self._catch_up()

    def note(self, extension: str, level: Level, text: str, chat: Chat | None) -> None:
        if not self._late():
            self._tell(ExtNotify(extension, level, text), chat)
            return
        if not self._dropped:
            _log_dropping(extension)
        self._dropped += 1

    def clear_notes(self, extension: str) -> None:
        if self._late():
            self._cleared.add(extension)
        else:
            self._tell(ExtClearNotes(extension), None)

    def panel(self, extension: str, panel: Panel, chat: Chat | None) -> None:
        self._open = Opened(extension, panel, chat)
        if not self._late():
            self._tell_panel()

    def panel_close(self, extension: str, panel_id: str) -> None:
        self._open = None
        if not self._late():
            self._tell_panel()

    def _late(self) -> bool:
        """Whether this has to wait; what comes after something that waits has to wait as well."""
        if self._full():
            self._behind.set()
        return self._behind.is_set()

    def _catch_up(self) -> None:
        for extension in sorted(self._cleared):
            self._tell(ExtClearNotes(extension), None)
        self._cleared.clear()
        if self._dropped:
            self._tell(ExtNotify(OWN, "warn", DROPPED.format(self._dropped)), None)
        self._dropped = 0
        if self._open != self._told:
            self._tell_panel()

    def _tell_panel(self) -> None:
        """One that the client has not seen, or not in this chat, takes the place of the one before."""
        before, now = self._told, self._open
        if before is not None and (now is None or not before.stands_where(now)):
            self._tell(ExtPanelClose(before.extension, before.panel.id), before.chat)
        if now is not None:
            its = now.panel
            self._tell(ExtPanel(now.extension, its.id, its.title, its.lines, its.footer), now.chat)
        self._told = now


def _log_dropping(extension: str) -> None:
    import structlog  # dear at a start, which answers before anything is logged

    structlog.get_logger("hookgate.extensions").warning("extension_notes_dropped", extension=extension)
