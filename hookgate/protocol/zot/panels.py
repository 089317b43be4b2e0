"""Which panel is open: one at a time over all extensions. Knows neither how it is shown nor how its owner is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookgate.protocol.dataclasses import dataclass, replace

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import Panel


@dataclass(frozen=True, slots=True)
class Opened:
    extension: str
    panel: Panel


class Panels:
    """What an extension says of a panel counts only while that very panel of its is open."""

    def __init__(self) -> None:
        self.current: Opened | None = None

    def open(self, extension: str, panel: Panel) -> Opened | None:
        """The panel whose place it took and whose owner must hear of it, if there was another one."""
        before, self.current = self.current, Opened(extension, panel)
        return before if before and not self._is(before, extension, panel.id) else None

    def render(self, extension: str, panel: Panel) -> Panel | None:
        """The panel as it looks now; None when it is not the open one. An empty title keeps the old one."""
        current = self.current
        if current is None or not self._is(current, extension, panel.id):
            return None
        drawn = replace(panel, title=panel.title or current.panel.title)
        self.current = replace(current, panel=drawn)
        return drawn

    def close(self, extension: str, panel_id: str) -> bool:
        """Its owner closes it; whether it was open."""
        current = self.current
        if current is None or not self._is(current, extension, panel_id):
            return False
        self.current = None
        return True

    def dismiss(self) -> Opened | None:
        """The user closes whatever is open."""
        current, self.current = self.current, None
        return current

    @staticmethod
    def _is(opened: Opened, extension: str, panel_id: str) -> bool:
        return opened.extension == extension and opened.panel.id == panel_id
