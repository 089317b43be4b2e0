"""A panel on a terminal: the lines that fit, what is drawn over what, and the keys."""

from __future__ import annotations

import pytest

from hookgate.channels.panels import Key, Keys, PanelView, drawn
from hookgate.protocol.zot.frames import Panel

ROWS = Panel("p", "Rows", ("one", "two"), "x closes")


def test_a_panel_is_its_title_its_lines_and_its_footer() -> None:
    assert drawn(ROWS, 80, 24) == ["── Rows ──", "  one", "  two", "── x closes  esc closes"]


def test_what_does_not_fit_is_cut_and_said() -> None:
    long = Panel("p", "T" * 50, tuple(f"row {n}" for n in range(9)))
    lines = drawn(long, 20, 6)
    assert lines == ["── " + "T" * 15 + "…", "  row 0", "  row 1", "  … 7 more lines", "── esc closes"]
    assert all(len(line) < 20 for line in lines)


def test_wide_characters_take_two_columns() -> None:
    assert drawn(Panel("p", lines=("漢字漢字漢字",)), 11, 9)[1] == "  漢字漢…"


@pytest.mark.parametrize("evil", ["a\x1b[2Jb", "a\rb", "a\nb", "a\x07b", "\x1b]0;title\x07", "a\x1b[5Ab"])
def test_no_line_can_move_the_cursor(evil: str) -> None:
    for line in drawn(Panel("p", evil, (evil,), evil), 80, 24):
        assert line.isprintable(), line


def test_colours_are_left_out() -> None:
    assert drawn(Panel("p", lines=("\x1b[1;32mdone\x1b[0m",)), 80, 24)[1] == "  done"


def test_it_is_drawn_over_its_last_drawing_until_something_else_was_written() -> None:
    out: list[str] = []
    view = PanelView(out.append, lambda: (80, 24))
    view.draw(ROWS)
    view.draw(ROWS)
    view.left_behind()
    view.draw(ROWS)
    view.erase()
    view.erase()
    whole = "".join(f"{line}\n" for line in drawn(ROWS, 80, 24))
    assert out == [whole, "\x1b[4A\r\x1b[J" + whole, whole, "\x1b[4A\r\x1b[J", ""]


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"ab", [("rune", "a"), ("rune", "b")]),
        ("é漢".encode(), [("rune", "é"), ("rune", "漢")]),
        (b"\x1b[A\x1bOB", [("up", ""), ("down", "")]),
        (b"\x1b[1;5C", [("unknown", "")]),
        (b"\x1b[Z", [("unknown", "")]),
        (b"\x1b[8~\x1b[7~", [("end", ""), ("home", "")]),
        (b"\r\n\t\x08\x7f", [("enter", ""), ("enter", ""), ("tab", ""), ("backspace", ""), ("backspace", "")]),
        (b"\x03", [("esc", "")]),
        (b"\x01", [("unknown", "")]),
        (b"\x1bx", [("unknown", "")]),
        (b"\xff\xfea", [("unknown", ""), ("unknown", ""), ("rune", "a")]),
    ],
)
def test_bytes_become_keys_however_they_are_cut(data: bytes, keys: list[Key]) -> None:
    whole = Keys()
    assert whole.feed(data) + whole.rest() == keys
    piecewise = Keys()
    assert [key for byte in data for key in piecewise.feed(bytes([byte]))] + piecewise.rest() == keys


def test_a_lone_esc_is_one_only_when_nothing_follows() -> None:
    keys = Keys()
    assert keys.feed(b"\x1b") == []
    assert keys.undecided
    assert keys.rest() == [("esc", "")]
    assert not keys.undecided
