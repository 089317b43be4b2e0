"""What the other end asks extensions to do: one command at a time, each answered with what it leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from hookgate.protocol.chat import Inbound
from hookgate.protocol.rpc import commands, events
from hookgate.protocol.rpc.commands import Request
from hookgate.rpc.talk import chat_of

if TYPE_CHECKING:
    from hookgate.embedding.metered import Room
    from hookgate.rpc.server import Server

MAX_WAITING = 64


class ExtensionCommands:
    """Those of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._orders, self._inbox = trio.open_memory_channel[tuple[Request, commands.ExtCommand]](MAX_WAITING)
        self._unanswered = 0
        self._answered = trio.Event()

    def offer(self, request: Request, command: commands.ExtCommand) -> bool:
        """Whether it will be answered; False where as many wait already as may."""
        try:
            self._orders.send_nowait((request, command))
        except trio.WouldBlock:
            return False
        self._unanswered += 1
        return True

    async def run(self, room: Room) -> None:
        """Once there is a conversation, and only where there is room for an answer, until cancelled."""
        await self._server.opened.wait()
        async for request, command in self._inbox:
            await room()
            await self._run(request, command)
            self._unanswered -= 1
            self._answered.set()

    async def idle(self) -> None:
        """Until each is answered."""
        while self._unanswered:
            self._answered = trio.Event()
            await self._answered.wait()

    async def _run(self, request: Request, command: commands.ExtCommand) -> None:
        server, talk = self._server, self._server.talk(request)
        chat, conversation = chat_of(request), talk.conversation
        known = conversation.commands.named(command.name, chat) if conversation is not None else None
        extensions = conversation.extensions if conversation is not None else None
        if known is None or not known.extension or extensions is None or conversation is None:
            server.refuse(request, f"no extension registered for /{command.name}")
            return
        answer = await extensions.roster.command(known.name, command.args, chat)
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
