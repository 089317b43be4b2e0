"""What the other end asks extensions to do: one command at a time in each chat, answered with what it leads to."""

from __future__ import annotations

from collections import deque
from dataclasses import field
from math import inf
from typing import TYPE_CHECKING

import trio

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.rpc import commands, events
from hookgate.protocol.rpc.commands import Request
from hookgate.protocol.zot.answers import command_failed, unregistered
from hookgate.rpc.talk import chat_of

if TYPE_CHECKING:
    from hookgate.embedding.conversation import Conversation
    from hookgate.embedding.metered import Room
    from hookgate.loop.commands.table import Command
    from hookgate.rpc.server import Server

MAX_WAITING = 64
TOO_MANY = "too many commands wait already"
ABORTED = "aborted"


@dataclass
class _Order:
    """`scope` is its run; cancelling it before it begins cuts it off at its first step."""

    request: Request
    command: commands.ExtCommand
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)


class ExtensionCommands:
    """Those of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        # By chat, and none is empty; the first of each runs.
        self._lines: dict[str, deque[_Order]] = {}
        self._begin, self._begun = trio.open_memory_channel[str](inf)
        self._answered = trio.Event()

    def offer(self, request: Request, command: commands.ExtCommand) -> None:
        """It is answered at once where there is no such command, or where as many wait in its chat as may."""
        if self._server.opened.is_set() and self._known(request, command) is None:
            self._refuse(request, command)
            return
        chat = chat_of(request).session_key
        line = self._lines.get(chat)
        if line is None:
            self._lines[chat] = deque([_Order(request, command)])
            self._begin.send_nowait(chat)
        elif len(line) <= MAX_WAITING:
            line.append(_Order(request, command))
        else:
            self._server.refuse(request, TOO_MANY)

    def abort(self, chat: Chat) -> None:
        """What runs there, or is about to; what waits behind it stays."""
        if line := self._lines.get(chat.session_key):
            line[0].scope.cancel()

    async def run(self, room: Room) -> None:
        """Once there is a conversation, and only where there is room for an answer, until cancelled."""
        await self._server.opened.wait()
        self._refuse_unknown()
        async with trio.open_nursery() as nursery:
            async for chat in self._begun:
                nursery.start_soon(self._work_off, chat, room)

    async def idle(self) -> None:
        """Until each is answered."""
        while self._lines:
            self._answered = trio.Event()
            await self._answered.wait()

    def _refuse_unknown(self) -> None:
        """What was offered before anybody could tell, which else would wait for what stands before it."""
        for line in self._lines.values():
            for order in [it for it in line if self._known(it.request, it.command) is None]:
                self._refuse(order.request, order.command)
                line.remove(order)

    async def _work_off(self, chat: str, room: Room) -> None:
        """All that is asked for in one chat."""
        line = self._lines[chat]
        while line:
            order = line[0]
            with order.scope:
                await room()
                await self._run(order.request, order.command)
            if order.scope.cancelled_caught:
                self._server.refuse(order.request, command_failed(order.command.name, ABORTED).text)
            line.popleft()
        del self._lines[chat]
        self._answered.set()

    async def _run(self, request: Request, command: commands.ExtCommand) -> None:
        server, talk, chat = self._server, self._server.talk(request), chat_of(request)
        found = self._known(request, command)
        if found is None:
            self._refuse(request, command)
            return
        conversation, known = found
        assert conversation.extensions is not None  # noqa: S101 - the command is of one of them
        answer = await conversation.extensions.roster.command(known.name, command.args, chat)
        text = conversation.redacted(answer.text)
        if answer.effect == "error":
            server.refuse(request, text)
            return
        server.answer(request, {"action": answer.effect})
        match answer.effect:
            case "prompt":
                server.prompt(talk, Inbound(chat, answer.text), known.extension)
            case "insert" | "display":
                server.tell(events.ExtDisplay(known.extension, text), chat)
            case _:
                pass

    def _refuse(self, request: Request, command: commands.ExtCommand) -> None:
        """One that is still starting may yet register it."""
        conversation = self._server.talk(request).conversation
        starting = ", ".join(conversation.starting_extensions) if conversation is not None else ""
        more = f"; still starting: {starting}" if starting else ""
        self._server.refuse(request, f"{unregistered(command.name).text}{more}")

    def _known(self, request: Request, command: commands.ExtCommand) -> tuple[Conversation, Command] | None:
        """The chat's conversation, and the command as an extension has registered it."""
        conversation = self._server.talk(request).conversation
        if conversation is None or conversation.extensions is None:
            return None
        known = conversation.commands.named(command.name, chat_of(request))
        return (conversation, known) if known is not None and known.extension else None
