"""Where a text is cut for a channel with a limit, and that nothing of it is lost."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hookgate.loop.delivery.splitting import measure, pieces, split
from hookgate.protocol.chat.channel import ChannelLimits, TextUnit

LINK = "[the manual](https://example.org/a/long/way)"
MARKDOWN = st.lists(
    st.sampled_from(
        [
            "word ",
            "a\n",
            "\n\n",
            "# head\n",
            "```py\n",
            "```\n",
            "~~~\n",
            "> ",
            "- ",
            "    ",
            LINK,
            "\u00e9\u0301",
            "\U0001f600",
        ]
    ),
    max_size=60,
).map("".join)


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("short", 10, ("short",)),
        ("", 10, ("",)),
        ("one two three", 8, ("one two", "three")),
        ("first\n\nsecond one\n\nthird", 18, ("first\n\nsecond one", "third")),
        ("aaaa bbbb\ncccc dddd\neeee", 20, ("aaaa bbbb\ncccc dddd", "eeee")),
        ("abcdefghij", 4, ("abcd", "efgh", "ij")),
        (f"see {LINK} there", 46, ("see", f"{LINK}", "there")),
        ("```py\na = 1\nb = 2\nc = 3\n```\nend", 24, ("```py\na = 1\nb = 2\n```", "```py\nc = 3\n```\nend")),
        (
            "> ```\n> aaaaa\n> bbbbb\n> ccccc\n> ```\n",
            26,
            ("> ```\n> aaaaa\n> ```", "> ```\n> bbbbb\n> ```", "> ```\n> ccccc\n> ```"),
        ),
        ("x\n\n~~~sh\nls\n~~~", 12, ("x", "~~~sh\nls\n~~~")),
        ("e\u0301" * 6, 5, ("e\u0301" * 2, "e\u0301" * 2, "e\u0301" * 2)),
    ],
)
def test_a_text_is_cut_where_markdown_can_be(text: str, longest: int, expected: tuple[str, ...]) -> None:
    assert split(text, ChannelLimits(longest)) == expected


@pytest.mark.parametrize(("unit", "expected"), [("chars", 4), ("utf16", 5), ("bytes", 8)])
def test_texts_are_measured_as_the_platform_does(unit: TextUnit, expected: int) -> None:
    assert measure("a\u00e9\U0001f600b", unit) == expected
    assert len(split("\U0001f600" * 8, ChannelLimits(expected, unit))) == {4: 2, 5: 4, 8: 4}[expected]


@given(MARKDOWN | st.text(max_size=200), st.integers(4, 90), st.sampled_from(("chars", "utf16", "bytes")))
def test_nothing_is_lost_and_no_part_is_too_long(text: str, longest: int, unit: TextUnit) -> None:
    limits = ChannelLimits(longest, unit)
    cut = pieces(text, limits)
    assert "".join(text[it.start : it.end] for it in cut) == text
    assert all(it.end > it.start for it in cut)
    assert all(measure(part, unit) <= longest for part in split(text, limits))


@given(MARKDOWN)
@example(f"word word {LINK}word ```py\n```\nword ")
def test_code_stays_code_in_every_part(text: str) -> None:
    parts = split(text, ChannelLimits(60))
    assert _code(text) in _code("\n".join(parts))


def _code(text: str) -> str:
    """All that stands in fences; a long word of it may be cut."""
    tokens = MarkdownIt("commonmark").parse(text)
    return "".join("".join(it.content.split()) for it in tokens if it.type == "fence")


@pytest.mark.parametrize("bit", ["[", "`", "](", "> ", "```\n", "https://a", "x\n"])
def test_hostile_text_takes_time_linear_in_its_length(bit: str) -> None:
    began = perf_counter()
    split(bit * 20_000, ChannelLimits(4000))
    assert perf_counter() - began < 20
