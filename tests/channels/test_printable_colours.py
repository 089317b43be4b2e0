"""What an extension may colour: nothing but colours gets through, and they end with their line."""

from __future__ import annotations

import pytest

from hookgate.channels.printable import coloured


@pytest.mark.parametrize(
    ("text", "with_colours", "without"),
    [
        ("plain", "plain", "plain"),
        ("a \x1b[31mred\x1b[0m", "a \x1b[31mred\x1b[0m\x1b[0m", "a red"),
        ("\x1b[1;38;5;8mone\ntwo", "\x1b[1;38;5;8mone\x1b[0m\ntwo", "one\ntwo"),
        # Hidden text, the cursor, the title, a link that is not seen, the whole terminal.
        ("\x1b[8mhidden", "hidden", "hidden"),
        ("\x1b[2J\x1b[Hx\x1b[?25l", "x", "x"),
        ("\x1b]0;title\x07x", "x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link", "link"),
        ("\x1bPq#0\x1b\\x\x1bc", "x", "x"),
        ("\x9b31mx\x1b]never ends\x1b", "\\x9b31mx\\x1b]never ends\\x1b", "\\x9b31mx\\x1b]never ends\\x1b"),
        ("\x1b[31", "\\x1b[31", "\\x1b[31"),
    ],
)
def test_of_control_sequences_only_colours_stay(text: str, with_colours: str, without: str) -> None:
    assert coloured(text, keep=True) == with_colours
    assert coloured(text, keep=False) == without
