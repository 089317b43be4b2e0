"""Where what stands: the live region, the line below it, what is searched for, and what could be meant by Tab."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.layout import (
    BufferControl,
    CompletionsMenu,
    ConditionalContainer,
    Dimension,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.processors import BeforeInput, TabsProcessor
from prompt_toolkit.search import SearchState
from prompt_toolkit.utils import get_cwidth
from prompt_toolkit.widgets import SearchToolbar

from hookgate.cli.terminal.printing import GOES_ON

if TYPE_CHECKING:
    from hookgate.cli.terminal.keyboard.editor.editor import Editor

MENU_ROWS = 8


def layout(editor: Editor) -> Layout:
    asking, pressing = Condition(lambda: editor.question is not None), Condition(editor.pressing)
    searching = SearchToolbar(
        backward_search_prompt=lambda: _searched(editor.message, searching, "search: "),
        forward_search_prompt=lambda: _searched(editor.message, searching, "search forward: "),
    )
    message = BufferControl(
        editor.message,
        [TabsProcessor(char1=" ", char2=" ")],
        search_buffer_control=searching.control,
        preview_search=True,
    )
    answer = BufferControl(editor.answer, [BeforeInput(lambda: editor.question or "")])
    line = Window(
        message, get_line_prefix=partial(_before, editor), wrap_lines=True, height=lambda: _height(editor.message)
    )
    region = Window(FormattedTextControl(editor.live_rows), dont_extend_height=True)
    rows = [
        ConditionalContainer(region, Condition(lambda: editor.has_region)),
        # While a panel takes the keys nobody can type there.
        ConditionalContainer(line, ~asking & ~pressing),
        ConditionalContainer(Window(answer, wrap_lines=True, height=lambda: _height(editor.answer)), asking),
        searching,
    ]
    menu = Float(CompletionsMenu(MENU_ROWS, scroll_offset=1), xcursor=True, ycursor=True)
    return Layout(FloatContainer(HSplit(rows), [menu]), line)


def _searched(message: Buffer, searching: SearchToolbar, prompt: str) -> str:
    """Says so where nothing is found."""
    sought = SearchState(searching.search_buffer.text, searching.control.searcher_search_state.direction)
    return prompt if sought.text in message.document_for_search(sought).text else f"nothing found; {prompt}"


def _before(editor: Editor, line: int, wrapped: int) -> str:
    if wrapped:
        return ""
    return editor.prompt if line == 0 else GOES_ON


def _height(line: Buffer) -> Dimension:
    """There is room below for what could be meant."""
    return Dimension(min=MENU_ROWS) if line.complete_state is not None else Dimension()


def fitted(fragments: StyleAndTextTuples, columns: int, rows: int) -> StyleAndTextTuples:
    """The last rows of it, each no wider than the terminal."""
    folded = [row for line in split_lines(fragments) for row in _folded(line, columns)][-rows:]
    joined: StyleAndTextTuples = []
    for row in folded:
        joined += [("", "\n"), *row] if joined else row or [("", "")]
    return joined


def _folded(line: StyleAndTextTuples, columns: int) -> list[StyleAndTextTuples]:
    rows: list[StyleAndTextTuples] = [[]]
    taken = 0
    for style, text, *_ in line:
        for char in text:
            taken += get_cwidth(char)
            if taken > columns:
                rows.append([])
                taken = get_cwidth(char)
            rows[-1].append((style, char))
    return rows
