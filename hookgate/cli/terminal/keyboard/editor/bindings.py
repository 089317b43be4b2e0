"""Which key does what, besides what prompt_toolkit has: Emacs' keys, search, history, paste."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, get_common_complete_suffix
from prompt_toolkit.filters import Condition, has_focus, is_searching
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.search import SearchDirection, accept_search

from hookgate.channels.terminal.panels import Key

if TYPE_CHECKING:
    from hookgate.cli.terminal.keyboard.editor.editor import Editor


def bindings(editor: Editor) -> KeyBindings:
    keys = KeyBindings()
    _bind_lines(keys, editor)
    _bind_search(keys, editor)
    _bind_leaving(keys, editor)

    @keys.add(Keys.Any, eager=True, filter=Condition(editor.pressing) & ~has_focus(editor.answer))
    def press(event: KeyPressEvent) -> None:
        for key in _keys(event):
            editor.pressed(key)

    return keys


def _bind_lines(keys: KeyBindings, editor: Editor) -> None:
    """A message may have several lines, an answer is one."""
    message, answer = has_focus(editor.message), has_focus(editor.answer)

    @keys.add("enter", filter=message | answer)
    @keys.add("c-o", filter=message | answer)
    @keys.add("c-j", filter=answer)
    def enter(event: KeyPressEvent) -> None:
        _entered(editor, event)

    @keys.add("c-j", filter=message)
    @keys.add("escape", "enter", filter=message)
    def add_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    # Emacs' Meta-/ would complete, and Esc, to be safe, then /stop would send "stop" to the model.
    @keys.add("escape", "/", filter=message)
    def begin_command(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("/")

    @keys.add("tab", filter=message | answer)
    def complete(event: KeyPressEvent) -> None:
        _completed(event.current_buffer)


def _bind_search(keys: KeyBindings, editor: Editor) -> None:
    """Among what was sent before."""

    @keys.add("c-r", filter=has_focus(editor.message))
    def search_back(_event: KeyPressEvent) -> None:
        editor.message.begin_search(SearchDirection.BACKWARD)

    @keys.add("c-s", filter=has_focus(editor.message))
    def search_on(_event: KeyPressEvent) -> None:
        editor.message.begin_search(SearchDirection.FORWARD)

    @keys.add("c-c", filter=is_searching)
    @keys.add("c-g", filter=is_searching)
    def leave_search(_event: KeyPressEvent) -> None:
        editor.message.leave_search()

    def take_found(event: KeyPressEvent) -> None:
        accept_search()
        event.key_processor.feed(event.key_sequence[0], first=True)

    # As in a shell: whoever moves in what was found goes on with it.
    for key in ("left", "right", "home", "end", "c-a", "c-b", "c-e", "c-f"):
        keys.add(key, filter=is_searching)(take_found)


def _bind_leaving(keys: KeyBindings, editor: Editor) -> None:
    """What ends a turn, a line or the chat, and what leaves the terminal to the shell."""
    line = has_focus(editor.message) | has_focus(editor.answer)

    @keys.add("c-c", filter=line)
    def interrupt(_event: KeyPressEvent) -> None:
        editor.interrupt()

    @keys.add("c-d", filter=line & Condition(lambda: not editor.app.current_buffer.text))
    def end_input(_event: KeyPressEvent) -> None:
        editor.end_input()

    @keys.add("c-z")
    def suspend(_event: KeyPressEvent) -> None:
        editor.lending.suspend()


def _entered(editor: Editor, event: KeyPressEvent) -> None:
    """A line that ends with a backslash goes on; what was chosen from the menu is only taken over."""
    buffer = event.current_buffer
    if (
        buffer is editor.message
        and buffer.document.text_before_cursor.endswith("\\")
        and buffer.document.is_cursor_at_the_end_of_line
    ):
        buffer.delete_before_cursor()
        buffer.insert_text("\n")
    elif buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
        buffer.complete_state = None
    else:
        editor.enter()


def _completed(buffer: Buffer) -> None:
    """At once, so that what is typed after Tab stands after it: the one that is meant, or what all that could be have
    in common; where it is nothing, they are shown."""
    if buffer.complete_state is not None:
        buffer.complete_next()
        return
    asked = CompleteEvent(completion_requested=True)
    found = list(buffer.completer.get_completions(buffer.document, asked))
    if len(found) == 1:
        # It may begin with a quote, before what has been typed.
        buffer.apply_completion(found[0])
        return
    common = get_common_complete_suffix(buffer.document, found)
    buffer.insert_text(common)
    if found and not common:
        buffer.start_completion()


PANEL_KEYS: dict[str, str] = {
    **{key: key.value for key in (Keys.Up, Keys.Down, Keys.Left, Keys.Right, Keys.Home, Keys.End)},
    **{Keys.PageUp: "pageup", Keys.PageDown: "pagedown", Keys.Delete: "delete", Keys.Backspace: "backspace"},
    **{Keys.Enter: "enter", Keys.ControlJ: "enter", Keys.Tab: "tab", Keys.Escape: "esc", Keys.ControlC: "esc"},
}


def _keys(event: KeyPressEvent) -> list[Key]:
    """As panels know them."""
    pressed = event.key_sequence[0]
    if pressed.key == Keys.BracketedPaste:
        return [_rune(char) for char in pressed.data]
    following = event.key_processor.input_queue
    if pressed.key == Keys.Escape and following:
        # Esc and then a key of its own: fast fingers, or Alt, which no panel knows.
        return [("esc", "")] if following.popleft().key == Keys.Escape else [("unknown", "")]
    return [_key(pressed)]


def _key(pressed: KeyPress) -> Key:
    name = PANEL_KEYS.get(pressed.key)
    return (name, "") if name else _rune(pressed.data)


def _rune(char: str) -> Key:
    return ("rune", char) if len(char) == 1 and char.isprintable() and char != "\ufffd" else ("unknown", "")
