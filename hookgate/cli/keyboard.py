"""Lines from a person or a pipe, read in a thread so that everything else goes on."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

ReadLine = Callable[[str], Awaitable[str]]
"""Raises EOFError at the end of input and KeyboardInterrupt where Ctrl-C was typed at the prompt."""


def keyboard() -> ReadLine:
    """Line editing and history on a terminal; plain lines from anything else."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        return _Prompt().read
    return _read_plain


class _Prompt:
    def __init__(self) -> None:
        from prompt_toolkit import PromptSession

        self._session: PromptSession[str] = PromptSession()

    async def read(self, prompt: str) -> str:
        try:
            return await trio.to_thread.run_sync(self._blocking, prompt, abandon_on_cancel=True)
        except trio.Cancelled:
            self._leave()
            raise

    def _blocking(self, prompt: str) -> str:
        return self._session.prompt(prompt, handle_sigint=False)

    def _leave(self) -> None:
        """The thread still holds the terminal in raw mode: make its prompt return."""
        app = self._session.app
        if app.loop is not None and app.is_running:
            app.loop.call_soon_threadsafe(lambda: app.exit(exception=EOFError))


async def _read_plain(prompt: str) -> str:
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = await trio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    if not line:
        raise EOFError
    return line.rstrip("\n")
