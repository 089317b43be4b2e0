"""The seam to whoever shows what extensions say to people. No call waits and none raises.

`chat` is the one whose call is in flight at the extension; None: nobody's or several people's, so that what is said
is for operators alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from hookgate.protocol.chat import Chat

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import Level, Panel


class Surface(Protocol):
    def note(self, extension: str, level: Level, text: str, chat: Chat | None) -> None:
        """A note beside the conversation; it goes with the next prompt."""
        ...

    def clear_notes(self, extension: str) -> None:
        """This extension's notes alone."""
        ...

    def panel(self, extension: str, panel: Panel, chat: Chat | None) -> None:
        """This panel is open and looks like this: newly opened, or drawn again."""
        ...

    def panel_close(self, extension: str, panel_id: str) -> None:
        """That panel is no longer open."""
        ...

    def submit(self, extension: str, text: str, chat: Chat | None) -> None:
        """Text to be taken as a user's message; never blank."""
        ...

    def submit_slash(self, extension: str, text: str, chat: Chat | None) -> None:
        """A command as a user types it, slash included."""
        ...


class Unshown:
    """A Surface that shows nothing, for whoever shows some of it: prompts, say, are the other end's business."""

    def note(self, extension: str, level: Level, text: str, chat: Chat | None) -> None: ...

    def clear_notes(self, extension: str) -> None: ...

    def panel(self, extension: str, panel: Panel, chat: Chat | None) -> None: ...

    def panel_close(self, extension: str, panel_id: str) -> None: ...

    def submit(self, extension: str, text: str, chat: Chat | None) -> None: ...

    def submit_slash(self, extension: str, text: str, chat: Chat | None) -> None: ...


class Journal(Protocol):
    """Where an extension's stderr goes, and what hookgate has to say of it."""

    def lines(self, lines: Sequence[bytes]) -> None: ...

    def host(self, text: str) -> None: ...
