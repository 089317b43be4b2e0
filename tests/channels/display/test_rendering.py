"""Markdown on a terminal: laid out, coloured, nothing of it hidden, and nothing in it that a terminal would obey."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from hookgate.channels.printable import char_columns
from hookgate.channels.terminal.display.blocks import LONGEST, Blocks
from hookgate.channels.terminal.display.rendering import rendered

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def shown(text: str, columns: int = 60) -> list[str]:
    """The rows of all its blocks, with colours."""
    blocks = Blocks()
    return [row for block in [*blocks.feed(text), *blocks.end()] for row in rendered(block, columns)]


def plain(rows: Sequence[str]) -> list[str]:
    return [COLOUR.sub("", row) for row in rows]


def test_what_markdown_means_is_laid_out() -> None:
    text = """# Head *of* it
one **bold**
`two` ~~three~~

10. ten
    - nested
    ```py
    x = 1
    ```

> said

|a|b|
|--|--:|
|1|2|
"""
    assert plain(shown(text, 40)) == [
        "Head of it",
        "one bold",
        "two three",
        " 10 ten",
        "     • nested",
        "    ```py",
        "    x = 1",
        "    ```",
        "▌ said",
        " a  b",
        " ────",
        " 1  2",
    ]
    colours = "\n".join(shown(text))
    assert "\x1b[1mbold\x1b[0m" in colours
    assert "\x1b[36mtwo\x1b[0m" in colours


def test_code_stands_as_it_was_written_with_colours_and_long_lines_whole() -> None:
    code = ["def f(x):", "", '    return "' + "long " * 30 + '"']
    rows = shown("\n".join(["```python", *code, "```"]), 40)
    assert plain(rows) == ["```python", *code, "```"]
    assert "\x1b[35mdef\x1b[0m" in rows[1]
    assert shown("```nothing known\ndef\n```")[1] == "def"


def test_code_without_a_fence_and_code_in_an_item_are_seen_to_be_code() -> None:
    assert plain(shown("so:\n\n    ls\n      -l\n\nend")) == ["so:", "    ls", "      -l", "end"]
    assert plain(shown("- run\n\n  ~~~\n  ls\n\n  pwd\n  ~~~\n")) == [
        *(" • run", "   ~~~", "   ls", "", "   pwd", "   ~~~"),
    ]
    assert plain(shown("- a\n  ```\n  x\n  ```\n\n  b\n- c")) == [" • a", "   ```", "   x", "   ```", "   b", " • c"]
    assert plain(shown("> ```sh x\n> ```")) == ["▌ ```sh x", "▌", "▌ ```"]


@pytest.mark.parametrize("row", ["| `x|y` | 2 |", "x | y | z", "| a | b | c", r"| a \| b | c | d |"])
@pytest.mark.parametrize("begins", ["", "> ", "- "])
def test_a_row_with_more_cells_than_its_table_stands_there_as_it_was_written(row: str, begins: str) -> None:
    head, *goes_on = f"{begins}|p|q|", "|-|-|", "|1|2|", row
    text = "\n".join([head, *(f"{begins if begins == '> ' else ' ' * len(begins)}{line}" for line in goes_on)])
    assert shown(text) == text.split("\n")
    laid_out = text.replace(row, r"| `x\|y` | 2 |")
    assert plain(shown(laid_out)) != laid_out.split("\n")


def test_links_and_pictures_show_where_they_lead() -> None:
    text = "[here](http://x/y) <http://a.b> <a@b.c> ![pic](http://p/q.png) [t][x]\n\n[x]: http://hidden 'title'"
    assert plain(shown(text, 100)) == [
        "here (http://x/y) http://a.b a@b.c [pic] (http://p/q.png) [t][x]",
        "[x]: http://hidden 'title'",
    ]
    titled = '[http://a](http://a "sudo rm") ![p](q "two\nlines")'
    assert "\n".join(plain(shown(titled, 100))) == 'http://a (http://a "sudo rm") [p] (q "two\nlines")'


HOSTILE = {
    "escapes": "\x1b[2J\x1b]0;title\x07 \x9b31m \x1b]8;;http://x\x1b\\text\r \x08 `\x1b[1m` **\x1b[0m**",
    "entities": "&#27;[2J &#x202e;abc &#155;1m &#8203; [a](http://x/&#x202e;) `&#x202e;`",
    "markup": "[red]x[/red] [link=http://x]y[/link] [bold :smile: [/]",
    "html": "<b>x</b>\n\n<!-- unseen -->\n\n<div style='display:none'>there</div>",
    "code": "```\x1b]0;t\x07\n\x1b[2J\n```",
    "table": "|\x1b[2J|b|\n|-|-|\n|&#27;[2J|\x1b]0;x\x07|",
    "nested": "".join(f"{'  ' * depth}- a{depth}\n" for depth in range(40)),
    "quotes": "> " * 60 + "deep",
    "wide table": f"|{'a|' * 40}\n|{'-|' * 40}\n|{'b|' * 40}",
    "many cells": f"|{'a|' * 5}\n|{'-|' * 5}\n" + f"|{'b|' * 5}\n" * 400,
    "long words": f"|b|a|\n|-|-|\n|d|{'c' * 200}|\n\n# {'e' * 200}\n\n- {'f' * 200}",
    "wide characters": "漢字" * 50 + "🙂" * 50,
    **{f"many {unit!r}": unit * (LONGEST // len(unit)) for unit in ("[", "![a](", "*a **a ", "`a``b", "~~a", "<a ")},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_is_hidden_obeyed_or_wider_than_the_terminal(name: str) -> None:
    text = HOSTILE[name]
    rows = plain(shown(text, 60))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b]", "".join(rows))
    if name not in ("nested", "quotes", "wide table", "many cells"):
        assert max(sum(map(char_columns, row)) for row in rows) <= 60
    words = re.findall(r"[a-z]{2,}|[a-z]\d+|漢", text)
    together = "".join(rows).replace(" ", "")
    assert [word for word in words if word not in together] == []


def test_escapes_are_written_out() -> None:
    assert plain(shown("a \x1b[2J b")) == ["a \\x1b[2J b"]
    assert plain(shown("&#x202e; b")) == ["\\u202e b"]
