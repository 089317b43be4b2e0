"""hookgate's own lines at the edge of a terminal: counted in columns, broken where a reader expects it."""

from __future__ import annotations

import pytest

from hookgate.channels.printable import char_columns
from hookgate.channels.terminal.display.wrapping import wrapped

WIDE = "\u5b57"


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        pytest.param("short", ["short"], id="there is room"),
        pytest.param("one two three four five", ["one two three four", "  five"], id="words"),
        pytest.param(
            "    indented, and so is the rest", ["    indented, and so", "      is the rest"], id="indented"
        ),
        pytest.param(f"a /{'p' * 30} b", ["a", f"  /{'p' * 30}", "  b"], id="a path"),
        pytest.param(f"{WIDE * 8} ok, asked", [f"{WIDE * 8} ok,", "  asked"], id="as wide as it is"),
        pytest.param(
            f"\u00b7 echo {WIDE * 17} \u2026 0.0 s ok",
            [f"\u00b7 echo {WIDE * 6}", f"  {WIDE * 9}", f"  {WIDE * 2} \u2026 0.0 s ok"],
            id="without blanks",
        ),
        pytest.param(f"{WIDE * 9}x\u3002 ok", [WIDE * 8, f"  {WIDE}x\u3002 ok"], id="punctuation ends a row"),
    ],
)
def test_a_line_goes_on_in_the_next_row_where_its_columns_end(line: str, rows: list[str]) -> None:
    assert wrapped(line, 20).split("\n") == rows


@pytest.mark.parametrize("columns", [20, 39, 59, 79])
def test_no_row_of_wide_characters_is_wider_than_the_terminal(columns: int) -> None:
    rows = wrapped(f"\u00b7 bash: echo {WIDE * 50}\u2026 0.0 s ok", columns).split("\n")
    assert max(sum(map(char_columns, row)) for row in rows) <= columns
    assert all(row.startswith("  ") for row in rows[1:])
