"""What an extension has registered so far: tools, commands, events, interceptions. All of it only grows."""

from __future__ import annotations

from hookgate.hooks.zot.calls import Calls
from hookgate.hooks.zot.tool import ZotTool
from hookgate.protocol.zot.events import EVENTS, INTERCEPTS
from hookgate.protocol.zot.frames import RegisterCommand, RegisterTool, Subscribe

MAX_REGISTERED = 256
"""Tools, and commands, of one extension: each time one comes, all of them are offered anew."""


class Registered:
    def __init__(self, extension: str, calls: Calls) -> None:
        self.events: frozenset[str] = frozenset()
        self.intercepts: frozenset[str] = frozenset()
        self.news = False
        """Tools or commands have come since somebody last looked and set it back."""
        self._extension = extension
        self._calls = calls
        self._tools: dict[str, ZotTool] = {}
        self._commands: dict[str, RegisterCommand] = {}

    @property
    def tools(self) -> tuple[ZotTool, ...]:
        return tuple(self._tools.values())

    @property
    def commands(self) -> tuple[RegisterCommand, ...]:
        return tuple(self._commands.values())

    def take(self, frame: RegisterTool | RegisterCommand | Subscribe) -> str:
        """A tool's newer registration counts, a command's first; names that do not exist are dropped. Why it does
        not count, where there are too many; else empty."""
        match frame:
            case RegisterTool(name=name):
                if name not in self._tools and len(self._tools) >= MAX_REGISTERED:
                    return f"has {MAX_REGISTERED} tools, as many as it may: {name[:80]!r} is left out"
                self._tools[name] = ZotTool(self._extension, frame, self._calls)
                self.news = True
            case RegisterCommand(name=name):
                if name.lower() in self._commands:
                    return ""
                if len(self._commands) >= MAX_REGISTERED:
                    return f"has {MAX_REGISTERED} commands, as many as it may: {name[:80]!r} is left out"
                self._commands[name.lower()] = frame
                self.news = True
            case Subscribe():
                self.events |= frame.events & EVENTS
                self.intercepts |= frame.intercept & INTERCEPTS
        return ""
