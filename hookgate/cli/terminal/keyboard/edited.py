"""The person at a terminal with editing, as the loop sees them. The editor itself is another thread's."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from math import inf
from pathlib import Path
from typing import Any

import trio

from hookgate.channels.printable import printable
from hookgate.channels.terminal.display.wrapping import wrapped
from hookgate.channels.terminal.panels import Key
from hookgate.cli.printing import screen_size
from hookgate.cli.terminal.keyboard.editor.history import History
from hookgate.cli.terminal.keyboard.keyboard import Completes, nothing
from hookgate.cli.terminal.keyboard.live import LiveScreen, Posts

OVER = "· {} came when its question was over, and answers no other"
TOO_LATE = "· {} came when the chat had ended, and is not sent"
COMPLETE_S = 0.5
"""What takes longer completes nothing: nobody can type meanwhile."""


class LineQuestion:
    """One question: the editor hands back the very one that an answer was typed for."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.answer: str | None = None
        self.over = trio.Event()


class EditedKeyboard:
    """`ahead`: what was typed before there was an editor; `before`: how the terminal was; `history`: where messages
    are kept. `start` starts the editor, once: with the first line that is wanted, or with `begin`, so that a start
    need not wait for it. `entered`, where there is one, takes each line instead of whoever reads, and None where the
    person leaves. What begins with `on_` is called in the loop's thread, by what the editor tells it."""

    person = edits = True
    seat = None

    def __init__(self, ahead: str, before: list[Any], history: Path, start: Callable[[EditedKeyboard], None]) -> None:
        self._start: Callable[[EditedKeyboard], None] | None = start
        self.ahead, self.before = ahead, before
        self.typed = 0
        self.reading = False
        """Somebody waits for the next line."""
        self.entered: Callable[[str | None], None] | None = None
        self.keeps: Callable[[str], bool] = lambda _text: False
        self.answers: Callable[[str], bool] = lambda _text: False
        self.completes: Completes = nothing
        self.busy: Callable[[], bool] = bool
        self.prompt: Callable[[], str] = str
        self.folder = Path()
        self.pressing = False
        """Keys go somewhere else. The editor looks here, not later than at what is to be drawn: who reads that a key
        closes a panel may press it at once."""
        self.line: Callable[[], str] = str
        """What has been typed so far; the editor's own."""
        self.posts = Posts()
        self.screen = LiveScreen(self.posts)
        self.history = History(history, self._say)
        self._token = trio.lowlevel.current_trio_token()
        self._said, self._lines = trio.open_memory_channel[str](inf)
        self._question: LineQuestion | None = None
        self._pressed: trio.MemorySendChannel[Key] | None = None
        self._ended = False
        self._used = False
        """A line was sent, or taken away again."""
        self.emptied = trio.Event()

    @property
    def free(self) -> bool:
        return self._used and not self.line() and not self._lines.statistics().current_buffer_used

    @property
    def heard(self) -> bool:
        """Somebody takes the next line at once. It may be called in any thread."""
        return self.reading or self.entered is not None

    def begin(self) -> None:
        """The line to type in is there from now on, whoever reads it."""
        self._begin(self.prompt())

    def _begin(self, prompt: str) -> None:
        """Until the editor is there its prompt stands there already, and what is typed waits for it."""
        start, self._start = self._start, None
        if start is not None:
            self.screen.stand(prompt)
            start(self)

    async def read(self) -> str:
        self.begin()
        self.reading = True
        try:
            line = await self._lines.receive()
        except trio.EndOfChannel:
            raise EOFError from None
        finally:
            self.reading = False
        if self.kept(line) and self.keeps(line):
            self.posts(lambda _editor: self.history.add(line))
        return line

    async def ask(self, prompt: str) -> str:
        if self._ended:
            raise EOFError
        self._begin("")
        question = self._question = LineQuestion(prompt)
        self.posts(lambda editor: editor.ask(question))
        try:
            await question.over.wait()
        finally:
            self._question = None
            self.posts(lambda editor: editor.asked(question))
        if question.answer is None:
            raise EOFError
        return question.answer

    def redraw(self, old: str, new: str, prompt: str) -> bool:
        if self._question is not None:
            self._question.prompt = prompt
        self.screen.replace(old, new)
        return True

    def kept(self, text: str) -> bool:
        """Whether it is one for the history, as shells have it: what begins with a blank is not. In any thread."""
        return bool(text.strip()) and not text.startswith(" ") and not self.answers(text)

    def changed(self, _line: object) -> None:
        """For the editor, in its thread."""
        self.typed += 1

    def insert(self, text: str) -> None:
        self.posts(lambda editor: editor.insert(text))

    def clear(self) -> bool:
        typed = bool(self.line())
        if typed:
            self.posts(lambda editor: editor.clear())
        return typed

    def interrupted(self) -> None:
        """The editor's terminal shows nothing of it."""

    @contextmanager
    def keys(self) -> Generator[trio.MemoryReceiveChannel[Key]]:
        self._pressed, keys = trio.open_memory_channel[Key](inf)
        if self._ended:
            self._pressed.close()
        self.pressing = True
        self.posts(lambda editor: editor.draw())
        try:
            yield keys
        finally:
            self._pressed, self.pressing = None, False
            self.posts(lambda editor: editor.draw())

    @asynccontextmanager
    async def lent(self) -> AsyncGenerator[None]:
        lent = trio.Event()
        self.posts(lambda editor: editor.lending.lend(lambda: self.tell(lent.set)))
        try:
            await lent.wait()
            yield
        finally:
            self.posts(lambda editor: editor.lending.take_back())

    def leave(self) -> None:
        """The editor gives the terminal back and ends."""
        self._ended = True
        self.posts(lambda editor: editor.leave())

    def tell(self, act: Callable[[], None]) -> None:
        """For the editor: what the loop's thread is to do."""
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(act)

    def on_line(self, text: str) -> None:
        if self._ended:
            self._say_of(text, TOO_LATE)
            return
        self._used = True
        (self.entered or self._said.send_nowait)(text)

    def on_empty(self) -> None:
        self._used = True
        self.emptied.set()
        self.emptied = trio.Event()

    def resume(self, lines: Iterable[str]) -> None:
        """They are read again, these first."""
        self.entered = None
        for line in lines if not self._ended else ():
            self._said.send_nowait(line)

    def complete(self, text: str) -> Sequence[str]:
        """For the editor, in its thread: what the line could become that so begins."""

        async def soon() -> Sequence[str]:
            with trio.move_on_after(COMPLETE_S):
                return await self.completes(text)
            return ()

        with suppress(trio.RunFinishedError, trio.Cancelled):
            return trio.from_thread.run(soon, trio_token=self._token)
        return ()

    def _say_of(self, typed: str, what: str) -> None:
        self._say(what.format(json.dumps(printable(typed), ensure_ascii=False)))

    def _say(self, line: str) -> None:
        """A line of hookgate's own."""
        self.screen.write(f"{wrapped(printable(line), screen_size()[0] - 1)}\n")

    def on_answer(self, question: LineQuestion, text: str | None) -> None:
        """The next question may stand there by now: that is another one."""
        if question is self._question and not question.over.is_set():
            question.answer = text
            question.over.set()
        elif text is not None:
            self._say_of(text, OVER)

    def on_key(self, key: Key) -> None:
        if self._pressed is not None:
            self._pressed.send_nowait(key)

    def on_end(self) -> None:
        """The person leaves, or the terminal is gone: no line comes any more."""
        self._ended = True
        self._said.close()
        if self.entered is not None:
            self.entered(None)
        if self._question is not None:
            self.on_answer(self._question, None)
        if self._pressed is not None:
            self._pressed.close()
