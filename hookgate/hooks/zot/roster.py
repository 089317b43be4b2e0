"""The extensions that are up, in load order: their tools, their commands, and the one panel that is open.

Owns no process. What is shown, and which registry holds the tools, is the business of those it tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import structlog

from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.zot.answers import CommandAnswer, not_up, unregistered
from hookgate.protocol.zot.panels import Opened, Panels
from hookgate.protocol.zot.surface import Surface

if TYPE_CHECKING:
    from hookgate.hooks.zot.extension_calls import RunTool
    from hookgate.protocol.zot.frames import Panel, RegisterCommand

log = structlog.get_logger("hookgate.hooks")

Offer = Callable[[str, int, Sequence[Tool]], None]
"""Extension, its place in the load order from 0, all tools that it offers now; none: it is down."""


class Extension(Protocol):
    """A running extension as the roster knows it."""

    @property
    def extension(self) -> str: ...

    @property
    def rank(self) -> int: ...

    @property
    def tools(self) -> Sequence[Tool]: ...

    @property
    def commands(self) -> Sequence[RegisterCommand]: ...

    async def command(self, name: str, args: str, chat: Chat | None) -> CommandAnswer: ...

    def press(self, panel_id: str, key: str, text: str) -> None: ...

    def panel_closed(self, panel_id: str) -> None: ...

    def forget_prompt(self, session: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Command:
    """`name` as it is registered; it is found in any case."""

    name: str
    description: str
    extension: str


class Roster:
    """`run_tool` None: extensions cannot call tools here."""

    def __init__(self, surface: Surface, offer: Offer, run_tool: RunTool | None = None) -> None:
        self.panels = Panels()
        self.run_tool = run_tool
        self._surface = surface
        self._offer = offer
        self._up: dict[str, Extension] = {}
        self._away: dict[str, tuple[Command, ...]] = {}

    @property
    def extensions(self) -> tuple[Extension, ...]:
        """Those that are up, in load order."""
        return tuple(sorted(self._up.values(), key=lambda it: it.rank))

    def forget_session(self, session: str) -> None:
        """The session was cleared: extensions that give it a system prompt are asked for it again."""
        for it in self._up.values():
            it.forget_prompt(session)

    @property
    def commands(self) -> tuple[Command, ...]:
        """One a name: of several, the first in load order. Those of extensions that are down come last: whoever runs
        one hears that it will be back."""
        up = {key: Command(it.name, it.description, owner.extension) for key, (owner, it) in self._commands().items()}
        away = {it.name.lower(): it for its in self._away.values() for it in its}
        return (*up.values(), *(it for key, it in away.items() if key not in up))

    async def command(self, name: str, args: str, chat: Chat | None = None) -> CommandAnswer:
        """Run what a person typed; `args` is everything after the name. Never raises (but Cancelled)."""
        owner, registered = self._commands().get(name.lower(), (None, None))
        if owner is None or registered is None:
            known = next((it for it in self.commands if it.name.lower() == name.lower()), None)
            return unregistered(name) if known is None else not_up(known.extension, known.name)
        answer = await owner.command(registered.name, args.strip(), chat)
        if answer.panel is not None:
            self.open_panel(owner, answer.panel, chat)
        return answer

    def _commands(self) -> dict[str, tuple[Extension, RegisterCommand]]:
        found: dict[str, tuple[Extension, RegisterCommand]] = {}
        for owner in self.extensions:
            for command in owner.commands:
                found.setdefault(command.name.lower(), (owner, command))
        return found

    # --- from the extensions ---

    def show(self, tell: Callable[[Surface], None]) -> None:
        """Whoever shows it must not bring down an extension's reader, and so the gateway."""
        try:
            tell(self._surface)
        except Exception:
            log.exception("extension_surface_failed")

    def changed(self, it: Extension) -> None:
        """It is up, or has registered something more."""
        self._up[it.extension] = it
        self._away.pop(it.extension, None)
        self._tell_tools(it, it.tools)

    def left(self, it: Extension) -> None:
        """It is down. A newer process of the same extension stays."""
        if self._up.get(it.extension) is not it:
            return
        del self._up[it.extension]
        self._away[it.extension] = tuple(Command(its.name, its.description, it.extension) for its in it.commands)
        self._tell_tools(it, ())
        current = self.panels.current
        if current is not None and current.extension == it.extension:
            self.close_panel(it, current.panel.id)

    def open_panel(self, it: Extension, panel: Panel, chat: Chat | None) -> None:
        """In this chat from now on, whichever had it before."""
        displaced = self.panels.open(it.extension, panel, chat)
        if displaced is not None:
            if not displaced.is_of(it.extension, panel.id):
                self._tell_closed(displaced.extension, displaced.panel.id)
            self.show(lambda surface: surface.panel_close(displaced.extension, displaced.panel.id))
        self._show_panel(self.panels.current)

    def render_panel(self, it: Extension, panel: Panel) -> None:
        """Where it was opened, whatever the extension is at."""
        self._show_panel(self.panels.render(it.extension, panel))

    def close_panel(self, it: Extension, panel_id: str) -> None:
        if self.panels.close(it.extension, panel_id):
            self.show(lambda surface: surface.panel_close(it.extension, panel_id))

    # --- from people ---

    def press(self, key: str, text: str = "") -> None:
        """A key for the open panel; `esc` closes it and is never sent. `text` with the key `rune` only."""
        current = self.panels.current
        if key == "esc":
            self.dismiss_panel()
        elif current is not None and (owner := self._up.get(current.extension)):
            owner.press(current.panel.id, key, text if key == "rune" else "")

    def dismiss_panel(self) -> None:
        closed = self.panels.dismiss()
        if closed is not None:
            self._tell_closed(closed.extension, closed.panel.id)
            self.show(lambda surface: surface.panel_close(closed.extension, closed.panel.id))

    def _show_panel(self, opened: Opened | None) -> None:
        if opened is not None:
            self.show(lambda surface: surface.panel(opened.extension, opened.panel, opened.chat))

    def _tell_tools(self, it: Extension, tools: Sequence[Tool]) -> None:
        try:
            self._offer(it.extension, it.rank, tools)
        except Exception:
            log.exception("extension_tools_refused", extension=it.extension)

    def _tell_closed(self, extension: str, panel_id: str) -> None:
        owner = self._up.get(extension)
        if owner is not None:
            owner.panel_closed(panel_id)
