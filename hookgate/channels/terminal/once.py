"""A channel for one question: keeps the last answer, and what there is of it where it is cut off."""

from __future__ import annotations

from collections.abc import Callable

from hookgate.channels.printable import named
from hookgate.channels.terminal.channel import NAME, Terminal
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decide, Decision
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED

NOBODY = "nobody can be asked here: this is no terminal (--yes approves)"
YES = "--yes"
"""Whose word it is, for the record."""


class Once:
    """`answer` is what the model said at last, or what a tool delivered in its place; `error` the line instead.
    `tell` hears of each call that nobody was asked about, and what stands beside the answer where nobody reads along.
    `person`: whoever can be asked; `reader`: who reads along. `yes`: every question is answered so, if whoever asked
    may."""

    name = NAME
    limits = UNLIMITED
    state = PRESENT

    def __init__(
        self,
        tell: Callable[[str], None] = lambda _line: None,
        person: Terminal | None = None,
        reader: Terminal | None = None,
        *,
        yes: bool = False,
    ) -> None:
        self._tell, self.person, self._reader, self._yes = tell, person, reader, yes
        self.answer: str | None = None
        self.error: str | None = None
        self._streamed: list[str] = []
        self._ended = False
        self.tells_refusals = True
        """Of calls that nobody can be asked about; else a notice says that."""

    @property
    def silent(self) -> bool:
        """Nothing has come, no error either."""
        return self.answer is None and self.error is None

    @property
    def partial(self) -> str:
        """What the model has said last, as far as it came."""
        return "".join(self._streamed)

    async def send(self, outbound: Outbound, key: str) -> str:
        match outbound.kind:
            case "answer" | "output":
                self.answer = outbound.text
            case "error":
                self.error = outbound.text
            case "notice":
                if self._reader is None:
                    self._tell(f"· {outbound.text}")
        if self._reader is not None and outbound.kind != "error":
            await self._reader.send(outbound, key)
        return ""

    def stream(self, chat: Chat, text: str) -> None:
        if self._ended:
            self._streamed.clear()
        self._ended = False
        self._streamed.append(text)
        if self._reader is not None:
            self._reader.stream(chat, text)
        elif self.person is not None:
            self.person.receives()

    def end_stream(self, chat: Chat) -> None:
        self._ended = True
        if self._reader is not None:
            self._reader.end_stream(chat)

    def restart_stream(self, chat: Chat) -> None:
        self._streamed.clear()
        if self._reader is not None:
            self._reader.restart_stream(chat)

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        tool = named(request.call.name)
        if self._yes:
            self._tell(f"· yes to {tool} by --yes ({named(request.asked_by)} asks)")
            await decide(Decision(True, YES, f"said by {YES}"))
        elif self.person is not None:
            await self.person.ask(request, decide)
        else:
            if self.tells_refusals:
                self._tell(f"! {tool} is refused: {NOBODY}")
            raise CannotAsk(NOBODY)
