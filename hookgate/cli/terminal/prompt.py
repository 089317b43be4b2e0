"""The prompt of a conversation that extensions take part in: what is said next, by the person or by one of them.

While a panel is open and nobody is in the middle of a line, keys go to the panel.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from hookgate.assembly.extensions.extensions import Extensions
from hookgate.channels.terminal.surface import TerminalSurface
from hookgate.cli.terminal.keyboard import Keyboard
from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True)
class SubmittedLine:
    """`typed`: by the person, with the blanks around it; else an extension submitted it."""

    text: str
    typed: bool


@dataclass(frozen=True)
class Prompt:
    keyboard: Keyboard
    surface: TerminalSurface
    extensions: Extensions | None

    async def next(self) -> SubmittedLine:
        """Raises EOFError when the person leaves."""
        while True:
            stirred, emptied = self.surface.stirred, self.keyboard.emptied
            submitted = self.surface.take_submitted()
            if submitted is not None:
                text, typed = submitted
                return SubmittedLine(text, typed=typed)
            if inserted := self.surface.take_inserted():
                self.keyboard.insert(inserted)
            if self.extensions and self.surface.panel_open and self.keyboard.free:
                await self._keys(self.extensions)
                continue
            line = await self._line(stirred, emptied)
            # Enter alone, too, takes a person from an open prompt to the panel.
            if line is not None and (line.strip() or not self.surface.panel_open):
                return SubmittedLine(line, typed=True)

    async def _line(self, *stirred: trio.Event) -> str | None:
        """None where an extension has something to say first, or to show now that the line is empty; what is half
        typed then stays."""
        heard: list[str | EOFError] = []

        async def read() -> None:
            try:
                heard.append(await self.keyboard.read())
            except EOFError as error:
                heard.append(error)

        await _first(read, *(it.wait for it in stirred))
        match heard:
            case [EOFError() as error, *_]:
                raise error
            case [str(line), *_]:
                return line
            case _:
                return None

    async def _keys(self, extensions: Extensions) -> None:
        """Until the panel is closed, or an extension has something to say."""
        roster, surface = extensions.roster, self.surface

        async def press() -> None:
            async for key in keys:
                roster.press(*key)
            roster.dismiss_panel()

        async def over() -> None:
            while surface.panel_open is not None and not surface.submits:
                await surface.stirred.wait()

        with self.keyboard.keys() as keys, surface.takes_keys():
            await _first(press, over)


async def _first(*tasks: Callable[[], Awaitable[None]]) -> None:
    """Until one of them is done; the others are cancelled."""

    async def run(task: Callable[[], Awaitable[None]]) -> None:
        await task()
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for task in tasks:
            nursery.start_soon(run, task)
