"""A session as the loop sees it: a channel where one person sits, who answers in place. Translates nothing itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from hookgate.acp.narration import Narration
from hookgate.protocol.approval import ApprovalRequest, Decide
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED
from hookgate.protocol.zot.frames import Level
from hookgate.protocol.zot.sequences import without_sequences
from hookgate.protocol.zot.surface import Unshown

NAME = "acp"


class EditorChannel:
    """`narration` is there once the session is open."""

    name = NAME
    limits = UNLIMITED
    state = PRESENT

    def __init__(self, ask: Callable[[ApprovalRequest, Decide], Awaitable[None]]) -> None:
        self.narration: Narration | None = None
        self._ask = ask

    async def send(self, outbound: Outbound, key: str) -> str:
        await trio.lowlevel.checkpoint()
        if self.narration is not None:
            self.narration.sent(outbound)
        return ""

    def stream(self, chat: Chat, text: str) -> None:
        if self.narration is not None:
            self.narration.stream(text)

    def end_stream(self, chat: Chat) -> None:
        """The calls that follow end the message."""

    def restart_stream(self, chat: Chat) -> None:
        if self.narration is not None:
            self.narration.restart()

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        await self._ask(request, decide)


class EditorSurface(Unshown):
    """What extensions say to people: notes are messages of the session, panels have no place in an editor."""

    def __init__(self, channel: EditorChannel) -> None:
        self._channel = channel

    def note(self, extension: str, level: Level, text: str, chat: Chat | None) -> None:
        if self._channel.narration is not None and chat is not None:
            self._channel.narration.sent(Outbound(chat, f"{extension}: {without_sequences(text)}", kind="output"))
