"""The terminal's own slash commands: what only somebody at this prompt can ask for, and how its help looks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import trio

from hookgate.assembly.app import Runtime
from hookgate.channels.terminal.channel import NAME, Terminal
from hookgate.cli.agreeing import Put
from hookgate.cli.terminal.commands.help import help_text
from hookgate.cli.terminal.commands.model import model, models
from hookgate.cli.terminal.printing import connections, hooks, tools
from hookgate.cli.terminal.trust import introduce
from hookgate.loop.commands.own import renew
from hookgate.loop.commands.table import Command, Invocation, Outcome
from hookgate.operations.extensions import reload_extensions
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass, replace

ENDING_S = 2.0
"""How long a turn may take to end before the screen is cleared all the same."""


@dataclass(frozen=True)
class TerminalCommands:
    """The terminal of a running chat. `put` asks whoever sits there, None: nobody does; `report` says what could not
    be loaded; `leave` ends the chat once the command that asks for it is settled."""

    runtime: Runtime
    terminal: Terminal
    put: Put | None
    report: Callable[[], None]
    leave: Callable[[], None]

    def rows(self) -> tuple[Command, ...]:
        runtime = self.runtime
        which = "which model answers; /model NAME: another, of any configured provider"
        says = partial(Command, early=True)
        rows = (
            says("tools", "what the model may use", self._says(lambda _it: tools(runtime))),
            says("hooks", "the hooks and their state", self._says(lambda _it: hooks(runtime))),
            says("mcp", "the MCP connections", self._says(lambda _it: connections(runtime))),
            says(
                "model",
                which,
                self._says(lambda it: model(runtime, it.inbound.chat, it.args)),
                takes=True,
                completes=partial(models, runtime),
            ),
            # It asks, and what is typed at a question acts at once.
            Command("reload-ext", "stop the extensions and load them again", self._reload, beside=True),
            Command("new", "start a new conversation", self._new, effect="new"),
            Command("clear", "begin a new conversation, on an empty screen", self._clear, effect="new"),
            says("help", "this text", self._says(self._help)),
            Command("quit", "leave; so does /exit", self._quit, aliases=("exit",)),
        )
        return tuple(replace(row, may=_here) for row in rows)

    def _says(self, text: Callable[[Invocation], str]) -> Callable[[Invocation], Awaitable[Outcome]]:
        async def run(invocation: Invocation) -> Outcome:
            await trio.lowlevel.checkpoint()
            self.terminal.reply(text(invocation))
            return ""

        return run

    def _help(self, invocation: Invocation) -> str:
        keys = self.terminal.screen.live
        return help_text(self.runtime.gateway.commands, invocation.inbound.chat, keys=keys)

    async def _new(self, invocation: Invocation) -> str:
        """Who begins anew is told that the conversation before is still there."""
        renewed = await renew(self.runtime.gateway, invocation)
        stored = self.runtime.gateway.journal.outlives
        return renewed + (" The one before stays stored: `hookgate sessions list` names it." if stored else "")

    async def _clear(self, invocation: Invocation) -> Outcome:
        """What `new` does, on an empty screen."""
        renewed = await self._new(invocation)
        # What it was in the middle of saying is not to stand on the empty screen.
        with trio.move_on_after(ENDING_S):
            session = self.runtime.gateway.sessions.get(invocation.session)
            if session is not None:
                await session.jobs.idle()
        self.terminal.clear()
        return renewed

    async def _reload(self, invocation: Invocation) -> Outcome:
        """What has begun to be loaded is not left half done."""
        found = None
        with invocation.scope:
            if self.put is not None and (extensions := self.runtime.settings.extensions) is not None:
                found = await introduce(self.runtime.settings.config, extensions, self.put, self.terminal.between)
        if invocation.scope.cancelled_caught:
            return "" if invocation.quiet else "Stopped."
        names = await reload_extensions(self.runtime, found)
        self.terminal.reply(f"· Extensions: {', '.join(names) or 'none'}.")
        self.report()
        return ""

    async def _quit(self, _invocation: Invocation) -> Outcome:
        self.leave()
        await trio.lowlevel.checkpoint()
        return ""


def _here(chat: Chat) -> bool:
    return chat.channel == NAME
