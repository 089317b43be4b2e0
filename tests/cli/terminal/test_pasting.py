"""What the bytes of a slow terminal are: keys, or a paste however it is torn."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from hookgate.cli.terminal.keyboard.editor.pasting import PasteParser

PASTE = "\x1b[200~one\r\x1btwo\r\x1b[201~"
PASTED = [(Keys.BracketedPaste, "one\r\x1btwo\r")]
ESC = (Keys.Escape, "\x1b")


def keys(*pieces: str, each: bool = True) -> list[tuple[str, str]]:
    """So much later comes each that what is begun by then is taken for whole."""
    found: list[KeyPress] = []
    parser = PasteParser(found.append)
    for piece in pieces:
        parser.feed(piece)
        if each:
            parser.flush()
    parser.flush()
    return [(str(it.key), it.data) for it in found]


def named(pressed: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(str(key), data) for key, data in pressed]


@pytest.mark.parametrize("at", range(len(PASTE) + 1))
def test_a_paste_that_is_torn_anywhere_is_one_and_nothing_of_its_mark_is_typed(at: int) -> None:
    came = keys("a", PASTE[:at], PASTE[at:], "b\r")
    assert came == named([("a", "a"), *[ESC] * (at == 1), *PASTED, ("b", "b"), (Keys.ControlM, "\r")])


def test_a_paste_that_comes_byte_by_byte_is_one_behind_another_and_behind_esc_too() -> None:
    assert keys(*PASTE, *PASTE) == named([ESC, *PASTED, ESC, *PASTED])
    assert keys("\x1b", "\x1b", *PASTE) == named([ESC, ESC, ESC, *PASTED])
    assert keys(f"x\x1b{PASTE}{PASTE}", each=False) == named([("x", "x"), ESC, *PASTED, *PASTED])


@pytest.mark.parametrize(
    ("pieces", "pressed"),
    [
        (("\x1b",), [ESC]),
        (("\x1b", "\x1b"), [ESC, ESC]),
        (("\x1b", "a"), [ESC, ("a", "a")]),
        (("\x1b", "[", "x"), [ESC, ("[", "["), ("x", "x")]),
        (("\x1b", "[20", "0\r"), [ESC, *((it, it) for it in "[200"), (Keys.ControlM, "\r")]),
        (("\x1b[A", "\x1b", "\x1b[B"), [(Keys.Up, "\x1b[A"), ESC, (Keys.Down, "\x1b[B")]),
        (("\x1b[", "A"), [(Keys.Up, "\x1b[A")]),
        (("\x1b[2", "1~"), [(Keys.F10, "\x1b[21~")]),
        (("\x1b/",), [ESC, ("/", "/")]),
    ],
)
def test_keys_are_keys(pieces: tuple[str, ...], pressed: list[tuple[str, str]]) -> None:
    assert keys(*pieces) == named(pressed)
