"""Slash commands that extensions bring, as rows of the table: what an extension's answer does in the chat.

Knows no process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from hookgate.hooks.zot import roster
from hookgate.loop.commands.table import Command, Invocation, Outcome
from hookgate.loop.extensions.surface import Surfaces
from hookgate.loop.sessions.jobs import Prompt
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.zot.answers import CommandAnswer


class Roster(Protocol):
    @property
    def commands(self) -> Sequence[roster.Command]:
        """One a name, as it is registered."""
        ...

    async def command(self, name: str, args: str, chat: Chat | None) -> CommandAnswer:
        """Never raises (but Cancelled)."""
        ...

    def forget_session(self, session: str) -> None: ...


class ExtensionCommands:
    """`covers`: whether a chat may use this extension's commands."""

    def __init__(
        self, source: Roster, surfaces: Surfaces, covers: Callable[[str, Chat], bool] = lambda _extension, _chat: True
    ) -> None:
        self._source = source
        self._surfaces = surfaces
        self._covers = covers

    def rows(self) -> Iterator[Command]:
        for it in self._source.commands:
            may = partial(self._covers, it.extension)
            yield Command(
                it.name, it.description, self._run, may=may, takes=True, beside=True, extension=it.extension
            )

    def forget(self, session: str) -> None:
        self._source.forget_session(session)

    async def _run(self, invocation: Invocation) -> Outcome:
        """Invoke it and show what it answered; the user message that it leads to, if it does."""
        chat = invocation.inbound.chat
        with invocation.scope:
            answer = await self._source.command(invocation.command.name, invocation.args, chat)
            return await self._done(invocation, answer)
        if not invocation.quiet:
            await self._surfaces.say(chat, "Stopped.")
        return ""

    async def _done(self, invocation: Invocation, answer: CommandAnswer) -> Outcome:
        chat, extension = invocation.inbound.chat, invocation.command.extension
        match answer.effect:
            case "prompt":
                await self._surfaces.settled(chat)
                return Prompt(replace(invocation.inbound, text=answer.text))
            case "insert":
                await self._surfaces.insert(extension, answer.text, chat)
            case "display":
                await self._surfaces.display(extension, answer.text, chat)
            case "error":
                await self._surfaces.say(chat, answer.text, "error")
            case _:
                pass
        await self._surfaces.settled(chat)
        return ""
