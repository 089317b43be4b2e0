"""The line of a chat that still starts: what is typed there acts at once where it needs nothing that starts; all else
waits, and is said so."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import trio

from hookgate.assembly.app import Runtime
from hookgate.channels.terminal.channel import Terminal
from hookgate.cli.terminal.commands.own import TerminalCommands
from hookgate.cli.terminal.keyboard import Keyboard
from hookgate.cli.terminal.keyboard.edited import EditedKeyboard
from hookgate.cli.terminal.printing import PROMPT
from hookgate.loop.commands.table import Invocation
from hookgate.program.signals import say_if_it_stops_slowly
from hookgate.protocol.chat import Chat, Inbound, Outbound

SOON_S = 0.3
WAITS = "· this waits until all has started (/help acts at once, /quit leaves)"
ASKED = "· this waits for the answer, and that all has started (/quit leaves)"
LEAVING = ("/quit", "/exit")


class Early:
    """Whoever leaves cancels the nursery. `waiting`: what is to be said once all has started."""

    def __init__(self, terminal: Terminal, chat: Chat, nursery: trio.Nursery) -> None:
        self._terminal, self._chat, self._nursery = terminal, chat, nursery
        self._runtime: Runtime | None = None
        self._typed: deque[str] = deque()
        self.waiting: list[str] = []
        self.over = trio.Event()

    def entered(self, line: str | None) -> None:
        if line is None or line.strip() in LEAVING:
            self._nursery.start_soon(say_if_it_stops_slowly, self.over)
            self._nursery.cancel_scope.cancel()
        elif line.strip():
            self._typed.append(line)
            if self._terminal.asks:
                self._terminal.reply(ASKED)
            self._look()

    def opened(self, runtime: Runtime) -> None:
        """There is what commands show, though nothing has started yet."""
        self._runtime = runtime
        rows = TerminalCommands(runtime, self._terminal, None, lambda: None, lambda: None).rows()
        runtime.gateway.commands.add(rows)
        self._look()

    def _look(self) -> None:
        """At what was typed, in that order."""
        while self._typed and (self._runtime is not None or not self._typed[0].lstrip().startswith("/")):
            line = self._typed.popleft()
            message = Inbound(self._chat, line.strip())
            invocation = self._runtime.gateway.commands.read(message) if self._runtime is not None else None
            if invocation is not None and invocation.command.early:
                self._nursery.start_soon(self._act, invocation)
            else:
                self.waiting.append(line)
                self._terminal.between(WAITS)

    async def _act(self, invocation: Invocation) -> None:
        outcome = await invocation.command.run(invocation)
        if isinstance(outcome, str | Outbound) and (line := invocation.line(outcome)) is not None:
            await self._terminal.send(line, "")


@asynccontextmanager
async def open_early(keyboard: Keyboard, terminal: Terminal, chat: Chat) -> AsyncGenerator[Early]:
    """The line to type in is there soon, until `over`; whoever leaves there cancels the body. Where lines are read
    one by one none is wanted yet."""
    async with trio.open_nursery() as nursery:
        early = Early(terminal, chat, nursery)
        if isinstance(keyboard, EditedKeyboard):
            keyboard.prompt = lambda: PROMPT
            keyboard.entered = early.entered
            nursery.start_soon(_begin, keyboard)
        try:
            yield early
        finally:
            early.over.set()
        nursery.cancel_scope.cancel()


async def _begin(keyboard: EditedKeyboard) -> None:
    """Where what starts is stopped no line stands there any more: nobody would read it."""
    try:
        await trio.sleep(SOON_S)
        keyboard.begin()
        await trio.sleep_forever()
    finally:
        if keyboard.entered is not None:
            keyboard.entered = _nobody
            keyboard.leave()


def _nobody(_line: str | None) -> None:
    """It comes too late."""


def over(keyboard: Keyboard, early: Early) -> Sequence[str]:
    """Lines are read from now on, first those that have waited."""
    if isinstance(keyboard, EditedKeyboard):
        keyboard.resume(early.waiting)
    return early.waiting
