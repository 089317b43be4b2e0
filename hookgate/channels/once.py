"""A channel for one question: keeps the last answer, asks nobody."""

from __future__ import annotations

from hookgate.channels.terminal import NAME
from hookgate.protocol.approval import ApprovalRequest, Decision
from hookgate.protocol.values import Chat, Outbound


class Once:
    """`answer` is what the model said at last, or what a tool delivered in its place; `error` the line instead."""

    name = NAME

    def __init__(self) -> None:
        self.answer: str | None = None
        self.error: str | None = None

    @property
    def silent(self) -> bool:
        """Nothing has come, no error either."""
        return self.answer is None and self.error is None

    async def send(self, outbound: Outbound) -> None:
        match outbound.kind:
            case "answer" | "output":
                self.answer = outbound.text
            case "error":
                self.error = outbound.text
            case _:
                pass

    def stream(self, chat: Chat, text: str) -> None:
        pass

    def end_stream(self, chat: Chat) -> None:
        pass

    def restart_stream(self, chat: Chat) -> None:
        pass

    async def approve(self, request: ApprovalRequest) -> Decision:
        return Decision(False, NAME, "nobody can be asked in a one-shot run")
