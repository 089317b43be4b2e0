"""A panel on a terminal: the lines that fit, and what they may hold."""

from __future__ import annotations

import pytest

from hookgate.channels.terminal.panels import CLOSES, PanelView
from hookgate.protocol.zot.frames import Panel

ROWS = Panel("p", "Rows", ("one", "two"), "x closes")


def drawn(panel: Panel, size: tuple[int, int], hint: str, *, colours: bool) -> list[str]:
    return PanelView().drawn(panel, size, hint, colours=colours)


def at(row: int, count: int = 12) -> Panel:
    return Panel("p", "List", tuple(f"{'>' if n == row else ' '} {n}" for n in range(count)))


def test_a_panel_is_its_title_its_lines_and_its_footer() -> None:
    assert drawn(ROWS, (80, 24), CLOSES, colours=False) == ["── Rows ──", "  one", "  two", "── x closes  esc closes"]


def test_what_does_not_fit_is_cut_and_said() -> None:
    long = Panel("p", "T" * 50, tuple(f"row {n}" for n in range(9)))
    lines = drawn(long, (20, 9), CLOSES, colours=False)
    assert lines == ["── " + "T" * 15 + "…", "  row 0", "  row 1", "  … 7 more lines", "── esc closes"]
    assert all(len(line) < 20 for line in lines)


@pytest.mark.parametrize("rows", [*range(9, 20), 24])
def test_it_leaves_the_rows_of_whoever_types(rows: int) -> None:
    assert len(drawn(at(0, 50), (80, rows), CLOSES, colours=False)) == rows - 4


@pytest.mark.parametrize("rows", [9, 11, 14])
@pytest.mark.parametrize(
    "way", [range(12), (*range(12), *reversed(range(12))), (0, 11, 0, 5, 11, 4), (0, 3, 9, 2, 0)]
)
def test_of_a_long_one_the_part_is_seen_in_which_something_has_changed(rows: int, way: tuple[int, ...]) -> None:
    view = PanelView()
    for row in way:
        title, *lines, footer = view.drawn(at(row), (40, rows), CLOSES, colours=False)
        assert (title, footer, len(lines)) == ("── List ──", "── esc closes", rows - 6)
        assert f"  > {row}" in lines
        numbers = [int(line.split()[-1]) for line in lines if "…" not in line]
        assert numbers == [*range(numbers[0], numbers[-1] + 1)]
        above, below = (lines[0].startswith("  … "), lines[-1].startswith("  … "))
        assert (above, below) == (numbers[0] > 0, numbers[-1] < 11)
        if above:
            assert lines[0] == f"  … {numbers[0]} lines above"
        if below:
            assert lines[-1] == f"  … {11 - numbers[-1]} more lines"


def test_one_that_changes_everywhere_stays_where_it_was_and_the_next_one_begins_at_its_top() -> None:
    view = PanelView()
    for row in (0, 9):
        view.drawn(at(row), (40, 11), CLOSES, colours=False)
    everywhere = Panel("p", "List", tuple(f"{n} new" for n in range(12)))
    assert view.drawn(everywhere, (40, 11), CLOSES, colours=False)[2] == "  7 new"
    shorter = Panel("p", "List", ("one", "two"))
    assert view.drawn(shorter, (40, 11), CLOSES, colours=False)[1:3] == ["  one", "  two"]
    view.drawn(at(9), (40, 11), CLOSES, colours=False)
    view.close()
    assert view.drawn(at(0), (40, 11), CLOSES, colours=False)[1] == "  > 0"


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
