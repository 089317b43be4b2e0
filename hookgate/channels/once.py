"""A channel for one question: keeps the last answer, asks nobody."""

from __future__ import annotations

from collections.abc import Callable

from hookgate.channels.printable import named
from hookgate.channels.terminal import NAME
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decide
from hookgate.protocol.channel import PRESENT, UNLIMITED
from hookgate.protocol.chat import Chat, Outbound

NOBODY = "nobody can be asked in a one-shot run"


class Once:
    """`answer` is what the model said at last, or what a tool delivered in its place; `error` the line instead.
    `tell` hears of each call that is refused because a person's yes is missing."""

    name = NAME
    limits = UNLIMITED
    state = PRESENT

    def __init__(self, tell: Callable[[str], None] = lambda _line: None) -> None:
        self._tell = tell
        self.answer: str | None = None
        self.error: str | None = None

    @property
    def silent(self) -> bool:
        """Nothing has come, no error either."""
        return self.answer is None and self.error is None

    async def send(self, outbound: Outbound, key: str) -> str:
        match outbound.kind:
            case "answer" | "output":
                self.answer = outbound.text
            case "error":
                self.error = outbound.text
            case _:
                pass
        return ""

    def stream(self, chat: Chat, text: str) -> None:
        pass

    def end_stream(self, chat: Chat) -> None:
        pass

    def restart_stream(self, chat: Chat) -> None:
        pass

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        self._tell(f"! {named(request.call.name)} is refused: {NOBODY}; hookgate chat asks")
        raise CannotAsk(NOBODY)
