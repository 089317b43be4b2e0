"""The names of a server's tools, as a table."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.tools.mcp.names import exposed


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("read", r"srv__read"),
        ("read.file-2", r"srv__read\.file-2"),
        ("read file", r"srv__read_file_[0-9a-f]{8}"),
        ("read/file", r"srv__read_file_[0-9a-f]{8}"),
        ("", r"srv__"),
        ("é", r"srv___[_0-9a-f]{9}"),
        ("x" * 59, r"srv__x{59}"),
        ("x" * 60, r"srv__x{50}_[0-9a-f]{8}"),
    ],
)
def test_a_tool_is_named_after_its_connection(tool: str, name: str) -> None:
    assert re.fullmatch(name, exposed("srv", [tool])[tool])


def test_names_that_would_be_alike_are_kept_apart() -> None:
    assert len(set(exposed("srv", ["a b", "a/b", "a_b", "a:b"]).values())) == 4


def test_a_name_that_is_taken_is_not_taken_again() -> None:
    assert exposed("a", ["b"], {"a__b"})["b"] != "a__b"


@given(st.lists(st.text(max_size=80), unique=True, max_size=20))
def test_every_name_is_legal_unique_and_the_same_in_any_order(tools: list[str]) -> None:
    names = exposed("srv", tools)
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) for name in names.values())
    assert len(set(names.values())) == len(tools)
    assert exposed("srv", reversed(tools)) == names
