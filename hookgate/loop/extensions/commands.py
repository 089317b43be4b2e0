"""Slash commands that extensions bring: which text is one, running it, and what its answer does in the chat.

Commands act at once, beside the turn that may be running. Knows no process; what they submit is for the gateway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import trio

from hookgate.hooks.zot.roster import Command
from hookgate.loop.extensions.surface import Surfaces, noted
from hookgate.protocol.values import Chat, Inbound
from hookgate.protocol.zot.answers import CommandAnswer

RESERVED = frozenset(
    {"stop", "new", "compact", "help", "tools", "hooks", "mcp", "model", "quit", "exit", "reload-ext"}
)
"""hookgate's own, here or at the terminal: an extension's command of such a name is never invoked."""


class Source(Protocol):
    @property
    def commands(self) -> Sequence[Command]:
        """One a name, as it is registered."""
        ...

    async def command(self, name: str, args: str, chat: Chat | None) -> CommandAnswer:
        """Never raises (but Cancelled)."""
        ...

    def forget_session(self, session: str) -> None: ...


@dataclass(frozen=True, eq=False)
class Invocation:
    """A message that is a command; the same text again is another one. `scope` ends it."""

    inbound: Inbound
    command: Command
    args: str
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)

    @property
    def session(self) -> str:
        return self.inbound.chat.session_key


class Commands:
    """`covers`: whether a chat may use this extension's commands."""

    def __init__(
        self, source: Source, surfaces: Surfaces, covers: Callable[[str, Chat], bool] = lambda _extension, _chat: True
    ) -> None:
        self._source = source
        self._surfaces = surfaces
        self._covers = covers
        self._running: dict[str, list[Invocation]] = {}
        self._over: dict[str, trio.Event] = {}
        self._quiet: set[Invocation] = set()

    def listed(self, chat: Chat) -> tuple[Command, ...]:
        """What this chat can invoke."""
        commands = self._source.commands
        return tuple(it for it in commands if it.name.lower() not in RESERVED and self._covers(it.extension, chat))

    def read(self, inbound: Inbound) -> Invocation | None:
        """The command that a message is, in any case; None for everything else."""
        name, *rest = inbound.text.split(maxsplit=1) or [""]
        if not name.startswith("/"):
            return None
        found = next((it for it in self.listed(inbound.chat) if it.name.lower() == name[1:].lower()), None)
        return None if found is None else Invocation(inbound, found, rest[0].rstrip() if rest else "")

    def begin(self, invocation: Invocation) -> None:
        """It counts as running from here on; `run` must follow."""
        self._running.setdefault(invocation.session, []).append(invocation)
        self._over.setdefault(invocation.session, trio.Event())

    async def run(self, invocation: Invocation) -> Inbound | None:
        """Invoke it and show what it answered; returns the user message that it leads to, if it does."""
        chat = invocation.inbound.chat
        with invocation.scope:
            answer = await self._source.command(invocation.command.name, invocation.args, chat)
            return await self._done(invocation, answer)
        if invocation not in self._quiet:
            await self._surfaces.say(chat, "Stopped.")
        return None

    def end(self, invocation: Invocation) -> None:
        running = self._running[invocation.session]
        running.remove(invocation)
        self._quiet.discard(invocation)
        if not running:
            del self._running[invocation.session]
            self._over.pop(invocation.session).set()

    async def idle(self, session: str) -> None:
        """Until no command of this conversation runs."""
        while session in self._over:
            await self._over[session].wait()

    def stop(self, session: str, *, quietly: bool = False) -> bool:
        """End what this conversation's commands wait for; False when there is none. `quietly`: people hear of it
        otherwise."""
        running = [it for it in self._running.get(session, ()) if not it.scope.cancel_called]
        self._quiet.update(running if quietly else ())
        for it in running:
            it.scope.cancel()
        return bool(running)

    def forget(self, session: str) -> None:
        """The conversation begins anew."""
        self._source.forget_session(session)

    async def _done(self, invocation: Invocation, answer: CommandAnswer) -> Inbound | None:
        chat, extension = invocation.inbound.chat, invocation.command.extension
        match answer.effect:
            case "prompt":
                await self._surfaces.settled(chat)
                return replace(invocation.inbound, text=answer.text)
            case "insert":
                await self._surfaces.insert(extension, answer.text, chat)
            case "display":
                await self._surfaces.say(chat, noted(extension, answer.text), "output")
            case "error":
                await self._surfaces.say(chat, answer.text, "error")
            case "open_panel" if answer.panel is not None:
                self._surfaces.move_panel(extension, answer.panel, chat)
            case _:
                pass
        await self._surfaces.settled(chat)
        return None
