"""The input line and what stands above it, drawn by prompt_toolkit in a thread of its own. Knows no conversation."""

from __future__ import annotations

import os
import signal
import sys
import termios
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

import structlog
from prompt_toolkit import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.output import ColorDepth

from hookgate.channels.printable import printable
from hookgate.channels.terminal.dialogue import NO
from hookgate.channels.terminal.panels import Key
from hookgate.cli.printing import screen_size
from hookgate.cli.terminal.keyboard.edited import EditedKeyboard, LineQuestion
from hookgate.cli.terminal.keyboard.editor.attention import Attention, Timer
from hookgate.cli.terminal.keyboard.editor.bindings import bindings
from hookgate.cli.terminal.keyboard.editor.completing import LineCompleter
from hookgate.cli.terminal.keyboard.editor.layout import fitted, layout
from hookgate.cli.terminal.keyboard.editor.lending import Lending
from hookgate.cli.terminal.keyboard.editor.messages import Line, Messages
from hookgate.cli.terminal.keyboard.editor.output import Output, size
from hookgate.cli.terminal.keyboard.editor.pasting import keys_of
from hookgate.cli.terminal.keyboard.editor.reflow import ReflowedRenderer
from hookgate.cli.terminal.printing import GOES_ON

log = structlog.get_logger("hookgate.terminal")

REDRAW_S = 0.05
"""Between two drawings of what comes above the line."""
ESCAPE_S = 0.05
"""How long the rest of a key's sequence may take; people hit Esc and then something else slower than that."""


def run_editor(keyboard: EditedKeyboard, terminal: str) -> None:
    """Until it is told to leave, or the terminal is gone."""
    try:
        Editor(keyboard, terminal).run()
    except (EOFError, OSError, termios.error):
        # Nobody can be told on a terminal that is gone.
        pass
    except Exception:
        log.exception("terminal_input_failed")
    finally:
        keyboard.screen.close()
        keyboard.tell(keyboard.on_end)


class Editor:
    """Two lines, one of them seen at a time: the message, and while a question stands open the answer to it, which no
    history keeps."""

    def __init__(self, keyboard: EditedKeyboard, terminal: str) -> None:
        completer, messages = LineCompleter(keyboard), Messages(keyboard.history)
        self.message = Line(completer, name="message", multiline=True, history=messages)
        self.answer = Buffer(completer, name="answer", multiline=False)
        self._attention = Attention(self._later, self._read, self._take_answers)
        self.pressing: Callable[[], bool] = lambda: keyboard.pressing
        self._keyboard = keyboard
        self._region, self._written, self._typing = "", "", False
        self._drawn = 0.0
        self._input = keys_of(sys.stdin)
        self._output = Output(sys.stdout, size, term=terminal, enable_cpr=False)
        self.app = Application[None](
            layout(self),
            key_bindings=bindings(self),
            color_depth=ColorDepth.from_env(),
            input=self._input,
            output=self._output,
            erase_when_done=True,
            min_redraw_interval=REDRAW_S / 2,
        )
        self.lending = Lending(self.app, self._output, keyboard.before, self.draw)
        self.app.renderer = self._renderer = ReflowedRenderer(self.app.renderer.style, self._output)
        self.app.ttimeoutlen = ESCAPE_S
        self.app.key_processor.before_key_press.add_handler(self._attention.typed)
        self.app.key_processor.after_key_press.add_handler(self._look)
        self.message.on_text_changed.add_handler(keyboard.changed)
        self.answer.on_text_changed.add_handler(self._look_late)
        keyboard.line = lambda: self.message.text

    def run(self) -> None:
        """Raises EOFError, OSError and termios.error where the terminal is gone."""
        self.app.run(self._begin, set_exception_handler=False, handle_sigint=False)

    def _begin(self) -> None:
        loop, context = self.app.loop, self.app.context
        assert loop is not None  # noqa: S101 - it runs
        assert context is not None  # noqa: S101
        loop.set_exception_handler(self._broke)
        self._type_ahead()

        def post(act: Callable[[Editor], None]) -> None:
            # Afterwards nobody draws and nobody hears.
            if not loop.is_closed():
                loop.call_soon_threadsafe(partial(act, self), context=context.copy())

        self._keyboard.screen.begin()
        self._keyboard.posts.begin(post)

    def _later(self, seconds: float, act: Callable[[], None]) -> Timer:
        loop = self.app.loop
        assert loop is not None  # noqa: S101 - it runs
        return loop.call_later(seconds, act)

    def _type_ahead(self) -> None:
        self._input.vt100_parser.feed(self._keyboard.ahead)
        self._take(self._input.flush_keys())

    def _broke(self, _loop: object, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, (OSError, termios.error)):
            self._end(EOFError())
        else:
            log.error("terminal_input_failed", exc_info=error, reason=context.get("message"))

    # --- what is drawn ---

    @property
    def prompt(self) -> str:
        return self._keyboard.prompt()

    def live_rows(self) -> StyleAndTextTuples:
        """The live region, as much of it as there is room for."""
        columns, rows = screen_size()
        taken = 3 + min(self.message.document.line_count, rows // 2)
        return fitted(to_formatted_text(ANSI(self._region)), columns, max(rows - taken, 1))

    @property
    def has_region(self) -> bool:
        return bool(self._region)

    def draw(self) -> None:
        """Soon: what is written many times a second is drawn a few times."""
        wait = self._drawn + REDRAW_S - monotonic()
        if wait > 0:
            self._later(wait, self._draw)
        else:
            self._draw()

    def _draw(self) -> None:
        app = self.app
        if not app.is_running or app.is_done or self.lending.away:
            return
        with self._output.at_once():
            cleared, old, text, self._region = self._keyboard.screen.take()
            app.renderer.erase()
            if cleared:
                app.renderer.clear()
            elif old and self._written.endswith(old):
                self._renderer.erase_above(old)
            self._output.write_raw(text)
            self._written = text or ("" if cleared else self._written)
            app.render_counter += 1
            app.renderer.render(app, app.layout)
        self._drawn = monotonic()
        self._attention.drawn()

    # --- what the loop wants, in this thread ---

    def ask(self, question: LineQuestion) -> None:
        """What is typed before it stands there was typed for the message, or for the question before it."""
        self._attention.ask(question)
        self.draw()

    @property
    def question(self) -> str | None:
        """What stands before the answer, where one is taken."""
        return asked.prompt if (asked := self._attention.question) is not None else None

    def _take_answers(self) -> bool:
        if self.lending.away:
            return False
        self.message.leave_search()
        self.answer.reset()
        self.app.layout.focus(self.answer)
        self._draw()
        return True

    def asked(self, question: LineQuestion) -> None:
        """The question is over. Whoever is in the middle of an answer ends that first: its rest is no message."""
        if self._attention.over(question, typing=bool(self.answer.text)):
            self._leave_answer()
        self.draw()

    def _leave_answer(self) -> None:
        self._attention.end()
        self.answer.reset()
        self.app.layout.focus(self.message)
        self.draw()

    def _look_late(self, _line: object = None) -> None:
        """Of an answer that comes too late nothing is left."""
        if self._attention.late and not self.answer.text:
            self._leave_answer()

    def insert(self, text: str) -> None:
        self.message.put(text)
        self.draw()

    def clear(self) -> None:
        self.message.clear()
        self._look()
        self.draw()

    def leave(self) -> None:
        self._hear_no_more()
        self.lending.take_back()
        self._draw()
        self._end(None)

    def _hear_no_more(self) -> None:
        """What is typed from here on is the shell's."""
        if self.app.loop is not None:
            self.app.loop.remove_reader(self._input.fileno())

    def _end(self, error: BaseException | None) -> None:
        if self.app.is_running and not self.app.is_done:
            if error is None:
                self.app.exit()
            else:
                self.app.exit(exception=error)

    def _read(self) -> None:
        self._take(self._input.read_keys())

    def _take(self, keys: list[Any]) -> None:
        self.app.key_processor.feed_multiple(keys)
        self.app.key_processor.process_keys()

    # --- what the person does ---

    def _look(self, _key: object = None) -> None:
        """Whoever has emptied the line is not typing any more, which is told after what that sent."""
        before, self._typing = self._typing, bool(self.message.text)
        if before and not self._typing:
            self._keyboard.tell(self._keyboard.on_empty)

    def enter(self) -> None:
        tell, keyboard = self._keyboard.tell, self._keyboard
        if (question := self._attention.question) is not None:
            answer = self.answer.text
            keyboard.screen.write(f"{question.prompt}{printable(answer)}\n")
            if answer.startswith("/") and keyboard.heard:
                # It acts at once, and the question stands as long as it is one.
                self.answer.reset()
                self._look_late()
                tell(lambda: keyboard.on_line(answer))
                return
            self._leave_answer()
            tell(lambda: keyboard.on_answer(question, answer))
            return
        text = self.message.text
        keyboard.screen.write(f"{self.prompt}{printable(text)}".replace("\n", f"\n{GOES_ON}") + "\n")
        if keyboard.kept(text):
            self.message.append_to_history()
        self.message.clear()
        self.draw()
        tell(lambda: keyboard.on_line(text))

    def end_input(self) -> None:
        """Ctrl-D: a no to the question, or the end of the conversation."""
        if self.question is not None:
            self.answer.text = NO
            self.enter()
        else:
            self._hear_no_more()
            self._keyboard.tell(self._keyboard.on_end)

    def interrupt(self) -> None:
        """What has been typed goes, where nothing runs; else it is what it is where the terminal makes a signal of
        it."""
        if self._attention.late:
            self._leave_answer()
        elif self.question is None and self.message.text and not self._keyboard.busy():
            self.clear()
        else:
            os.kill(os.getpid(), signal.SIGINT)

    def pressed(self, key: Key) -> None:
        self._keyboard.tell(lambda: self._keyboard.on_key(key))
