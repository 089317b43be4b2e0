"""Text written as TOML is read back the same by the standard library's reader."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.cli.migrate.toml import key, value

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NASTY = ["", '"', "\\", "a\nb\tc", "\x00\x1f\x7f\x85", "\u2028", "\u202e", "é😀", "#", "'''", "a.b", "={}[],"]


@pytest.mark.parametrize("text", NASTY)
def test_text_comes_back_as_it_was_both_as_value_and_as_key(text: str) -> None:
    assert tomllib.loads(f"{key(text)} = {value(text)}") == {text: text}


@given(st.recursive(TEXT | st.booleans() | st.integers(), lambda it: st.lists(it) | st.dictionaries(TEXT, it)))
def test_any_value_comes_back_as_it_was_and_on_one_line(item: Any) -> None:
    written = value(item)
    assert tomllib.loads(f"it = {written}") == {"it": item}
    assert len(written.splitlines()) == 1


def test_a_plain_key_is_not_quoted_and_one_with_a_dot_is() -> None:
    assert (key("my-hook_2"), key("my.hook")) == ("my-hook_2", '"my.hook"')
