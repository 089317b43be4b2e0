"""A panel on a terminal: the lines that fit, and what they may hold."""

from __future__ import annotations

import pytest

from hookgate.channels.terminal.panels import CLOSES, drawn
from hookgate.protocol.zot.frames import Panel

ROWS = Panel("p", "Rows", ("one", "two"), "x closes")


def test_a_panel_is_its_title_its_lines_and_its_footer() -> None:
    assert drawn(ROWS, (80, 24), CLOSES, colours=False) == ["── Rows ──", "  one", "  two", "── x closes  esc closes"]


def test_what_does_not_fit_is_cut_and_said() -> None:
    long = Panel("p", "T" * 50, tuple(f"row {n}" for n in range(9)))
    lines = drawn(long, (20, 8), CLOSES, colours=False)
    assert lines == ["── " + "T" * 15 + "…", "  row 0", "  row 1", "  … 7 more lines", "── esc closes"]
    assert all(len(line) < 20 for line in lines)


def test_wide_characters_take_two_columns() -> None:
    assert drawn(Panel("p", lines=("漢字漢字漢字",)), (11, 9), CLOSES, colours=False)[1] == "  漢字漢…"


@pytest.mark.parametrize("evil", ["a\x1b[2Jb", "a\rb", "a\nb", "a\x07b", "\x1b]0;title\x07", "a\x1b[5Ab"])
def test_no_line_can_move_the_cursor(evil: str) -> None:
    for line in drawn(Panel("p", evil, (evil,), evil), (80, 24), CLOSES, colours=False):
        assert line.isprintable(), line


def test_colours_stay_where_there_are_any_and_take_no_room() -> None:
    panel = Panel("p", lines=("\x1b[1;32mdone\x1b[0m", f"\x1b[31m{'x' * 20}"))
    assert drawn(panel, (13, 9), CLOSES, colours=True)[1:3] == [
        "  \x1b[1;32mdone\x1b[0m\x1b[0m",
        f"  \x1b[31m{'x' * 9}…\x1b[0m",
    ]


def test_colours_are_left_out_elsewhere() -> None:
    assert drawn(Panel("p", lines=("\x1b[1;32mdone\x1b[0m",)), (80, 24), CLOSES, colours=False)[1] == "  done"
