"""How rows are laid out for reading."""

from __future__ import annotations

from hookgate.cli.terminal.help import COMMANDS, aligned, help_text
from hookgate.loop.extensions.commands import RESERVED

ROWS = [
    ("a", "x", "short"),
    ("longer-name", "y", "one two three four five six"),
    ("n" * 40, "z", "moves its own row"),
]


def test_columns_are_as_wide_as_their_longest_cell_and_an_endless_one_moves_its_own_row_alone() -> None:
    assert aligned(ROWS) == [
        "  a            x  short",
        "  longer-name  y  one two three four five six",
        f"  {'n' * 40}  z  moves its own row",
    ]
    assert aligned([]) == []


def test_what_is_too_long_for_the_terminal_goes_on_below_itself() -> None:
    assert aligned(ROWS[:2], 40) == [
        "  a            x  short",
        "  longer-name  y  one two three four",
        "                  five six",
    ]
    assert aligned(ROWS[1:2], 20) == aligned(ROWS[1:2])


def test_the_help_names_what_a_terminal_takes() -> None:
    text = help_text([("/mine", "does it (ext)")])
    assert "  /mine        does it (ext)" in text.splitlines()
    # It is read at the prompt alone, where nothing runs that it could end.
    assert {f"/{name}" for name in RESERVED} - COMMANDS.keys() == {"/exit", "/stop"}
    assert "/stop" not in text
