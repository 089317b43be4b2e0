"""What an extension shows people, and says in their place: frames that become calls of their surface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookgate.hooks.zot.calls import Calls
from hookgate.hooks.zot.notes import Notes
from hookgate.hooks.zot.spec import ExtensionSpec
from hookgate.processes.deadlines import Deadlines
from hookgate.protocol.chat import Chat
from hookgate.protocol.zot.frames import (
    ClearNotes,
    ClosePanel,
    Level,
    Notify,
    OpenPanel,
    RenderPanel,
    Submit,
    SubmitSlash,
)
from hookgate.protocol.zot.peer import Incoming

if TYPE_CHECKING:
    from hookgate.hooks.zot.roster import Extension


class Showing:
    """Where the calls that it has in flight are of one chat, there; else nobody knows where."""

    def __init__(self, extension: Extension, spec: ExtensionSpec, calls: Calls, deadlines: Deadlines) -> None:
        self._extension, self._name = extension, spec.name
        self._roster, self._journal = spec.roster, spec.journal
        self._calls = calls
        self._notes = Notes(self._note, deadlines)

    def take(self, it: Incoming) -> None:
        roster, chat = self._roster, self._calls.chat
        match it:
            case Notify(level=level, message=message):
                self._notes.take(level, message, chat)
            case ClearNotes():
                roster.show(lambda surface: surface.clear_notes(self._name))
            case OpenPanel(panel=panel):
                if chat is None and self._calls.in_flight:
                    # It may be any of several chats', so it must not stay with the one that has it.
                    roster.close_panel(self._extension, panel.id)
                roster.open_panel(self._extension, panel, chat)
            case RenderPanel(panel=panel):
                roster.render_panel(self._extension, panel)
            case ClosePanel(panel_id=panel_id):
                roster.close_panel(self._extension, panel_id)
            case Submit(text=text) if text:
                roster.show(lambda surface: surface.submit(self._name, text, chat))
            case SubmitSlash(text=text):
                roster.show(lambda surface: surface.submit_slash(self._name, text, chat))
            case _:
                pass

    def warn(self, text: str, chat: Chat) -> None:
        """What hookgate has to say of it."""
        self._journal.host(text)
        self._note("warn", text, chat)

    def end(self) -> None:
        """No more will come."""
        self._notes.end()

    def _note(self, level: Level, text: str, chat: Chat | None) -> None:
        self._roster.show(lambda surface: surface.note(self._name, level, text, chat))
