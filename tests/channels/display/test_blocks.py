"""Markdown that is still written, cut into blocks: the same whatever the pieces, and in time that is linear in it."""

from __future__ import annotations

from random import Random

import pytest

from hookgate.channels.terminal.display.blocks import LONGEST, Block, Blocks

TEXT = """# Title
Some text
on two lines
1. one

   more of one
2. two
   ```sh
   - no item

   ```
- another list
lazy

  - deeper

plain again
```python title
def f():

    - no list
````
tight
| a | b |
|---|---|
| 1 | 2 |

> quoted
still

***
~~~
```
never closed"""


def cut(text: str) -> list[Block]:
    blocks = Blocks()
    return [*blocks.feed(text), *blocks.end()]


def test_a_text_is_cut_where_its_blocks_end() -> None:
    assert [("" if it.tight else "\n") + "\n".join(it.source) for it in cut(TEXT)] == [
        "\n# Title",
        "Some text\non two lines",
        "1. one\n\n   more of one",
        "2. two\n   ```sh\n   - no item\n\n   ```",
        "- another list\nlazy\n\n  - deeper",
        "\nplain again",
        "```python title\ndef f():\n\n    - no list\n````",
        "tight\n| a | b |\n|---|---|\n| 1 | 2 |",
        "\n> quoted\nstill",
        "\n***",
        "~~~\n```\nnever closed",
    ]
    assert [it.opening for it in cut(TEXT) if it.code] == ["```python title", "~~~"]


@pytest.mark.parametrize("seed", range(20))
def test_the_pieces_of_a_text_make_no_difference(seed: int) -> None:
    random, blocks, found, at = Random(seed), Blocks(), list[Block](), 0
    while at < len(TEXT):
        end = at + random.choice((1, 1, 2, 7, 40))
        found += blocks.feed(TEXT[at:end])
        at = end
    assert [*found, *blocks.end()] == cut(TEXT)
    assert cut(TEXT.replace("\n", "\r\n")) == cut(TEXT)


def test_a_block_is_finished_as_soon_as_it_is_certain_that_nothing_more_belongs_to_it() -> None:
    blocks = Blocks()
    lines = ["a", "", "```", "code", "", "```", "- item", "", "  more", "", "end"]
    assert [len(blocks.feed(f"{line}\n")) for line in lines] == [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    blocks.feed("half")
    assert blocks.last_lines(9) == ["end", "half"]
    assert blocks.last_lines(1) == ["half"]
    assert [it.lines for it in blocks.end()] == [("end", "half")]
    assert blocks.last_lines(9) == []


def test_what_is_very_long_comes_in_parts_and_nothing_of_it_is_lost() -> None:
    line = "x" * (LONGEST // 4)
    code = cut("```py\n" + f"{line}\n" * 9 + "```\nafter")
    assert [(len(it.lines), it.opening, it.closing) for it in code] == [
        (4, "```py", ""),
        (4, "", ""),
        (1, "", "```"),
        (1, "", ""),
    ]
    assert [it.code for it in code] == [True, True, True, False]
    endless = cut("y" * (2 * LONGEST + 1))
    assert ["".join(it.lines) for it in endless] == ["y" * LONGEST, "y" * LONGEST, "y"]


@pytest.mark.parametrize("unit", ["`", "* ", "- ", "~", "> ", "\n", " ", "1. ", "#", "_ ", "\t", "x"])
def test_each_character_is_looked_at_a_few_times_whatever_it_is(unit: str) -> None:
    """In pieces of one character: what looked at its line again for each of them would not end."""
    blocks = Blocks()
    for char in unit * (100_000 // len(unit)):
        blocks.feed(char)
    blocks.end()
