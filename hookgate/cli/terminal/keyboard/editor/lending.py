"""The terminal while the line is not on it: it is lent to a pager, or left to the shell."""

from __future__ import annotations

import termios
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from prompt_toolkit import Application
from prompt_toolkit.application.run_in_terminal import in_terminal

from hookgate.cli.terminal.keyboard.editor.output import Output
from hookgate.cli.terminal.keyboard.opening import stop


class Lending:
    """`before`: how it was, as `tcgetattr` has it; `draw`: it is the line's again."""

    def __init__(self, app: Application[None], output: Output, before: list[Any], draw: Callable[[], None]) -> None:
        self._app, self._output, self._before, self._draw = app, output, before, draw
        self._back: Any = None

    @property
    def away(self) -> bool:
        """Somebody has it who gives it back."""
        return self._back is not None

    def lend(self, lent: Callable[[], None]) -> None:
        """As it was before, until it is taken back; `lent` is called once it is."""
        loop = self._app.loop
        assert loop is not None  # noqa: S101 - it runs
        self._back = back = loop.create_future()

        async def away() -> None:
            async with self._as_before():
                lent()
                await back
            self._back = None
            self._draw()

        self._app.create_background_task(away())

    def take_back(self) -> None:
        if self._back is not None and not self._back.done():
            self._back.set_result(None)

    def suspend(self) -> None:
        """Ctrl-Z, where a shell stands behind it; the line is there again with `fg`."""

        async def away() -> None:
            async with self._as_before():
                stop()

        self._app.create_background_task(away())

    @asynccontextmanager
    async def _as_before(self) -> AsyncGenerator[None]:
        async with in_terminal():
            self._output.lend()
            termios.tcsetattr(0, termios.TCSADRAIN, self._before)
            yield
