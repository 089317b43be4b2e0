"""Markdown as a text with entities."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookgate.channels.telegram.entities import cut, units
from hookgate.channels.telegram.outgoing.formatting import formatted
from tests.channels.telegram.fake import FakeTelegram


def shown(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    found = formatted(markdown)
    return found.text, [(it.type, cut(found.text, it.offset, it.length)) for it in found.spans]


@pytest.mark.parametrize(
    ("markdown", "text", "spans"),
    [
        ("plain", "plain", []),
        (
            "a **b** _c_ ~~d~~ `e`",
            "a b c d e",
            [("bold", "b"), ("italic", "c"), ("strikethrough", "d"), ("code", "e")],
        ),
        ("😀 **👍**", "😀 👍", [("bold", "👍")]),
        ("**a `b` c**", "a b c", [("bold", "a "), ("code", "b"), ("bold", " c")]),
        ("# Head\n\ntext", "Head\n\ntext", [("bold", "Head")]),
        ("- a\n- b\n  1. c\n  2. d\n\nend", "• a\n• b\n  1. c\n  2. d\n\nend", []),
        ("```py\nx = 1\n\ny\n```\nz", "x = 1\n\ny\n\nz", [("pre", "x = 1\n\ny")]),
        ("````\n```\n````", "```", [("pre", "```")]),
        ("> a\n>> b\n\nc", "a\n\nb\n\nc", [("blockquote", "a\n\nb")]),
        ("| a |\n|---|\n| 1 |", "| a |\n|---|\n| 1 |", [("pre", "| a |\n|---|\n| 1 |")]),
        ("[x](https://e.org) [f](f.md)", "x f (f.md)", [("text_link", "x")]),
        ("![p](https://e.org/p.png) <b>", "p <b>", [("text_link", "p")]),
        (
            "https://e.org/a_b_c and 2*3*4 and snake_case_name",
            "https://e.org/a_b_c and 234 and snake_case_name",
            [("italic", "3")],
        ),
        ("a\\*b \\[c\\]", "a*b [c]", []),
        ("[x]: y", "[x]: y", []),
        ("", "", []),
    ],
)
def test_markdown_becomes_text_and_entities(markdown: str, text: str, spans: list[tuple[str, str]]) -> None:
    assert shown(markdown) == (text, spans)


@example(["> ", "`", "**", "`"])
@example(["> ", "**", "`", "a ", "`"])
@given(
    st.lists(
        st.sampled_from(
            ["**", "_", "`", "~~", "> ", "\n", "- ", "1. ", "```", "[a](", "http://x.y", ")", "😀", "a ", "|"]
        )
    )
)
def test_whatever_is_written_the_platform_takes_it_and_it_is_no_longer(pieces: list[str]) -> None:
    markdown, fake = "".join(pieces), FakeTelegram()
    found = formatted(markdown)
    fake._check_spans(found.text.encode("utf-16-le"), found.entities)
    assert units(found.text) <= max(units(markdown), 1)
    assert found.text.strip() or not markdown.strip()
