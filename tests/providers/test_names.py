"""Tool names and call ids: pure tables and two properties."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.protocol.values import LLMRequest, Message, ProposedCall, ToolSpec
from hookgate.providers.names import NewCallIds, call_id, map_names, tool_names

ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("read", "read"),
        ("Web-Fetch_2", "Web-Fetch_2"),
        ("weather.today", "weather_today"),
        ("a" * 64, "a" * 64),
        ("a" * 65, "a" * 55 + "_635361c4"),
        ("größe", "gr__e"),
    ],
)
def test_a_name_becomes_what_the_api_takes(name: str, wire: str) -> None:
    assert map_names((name,)).out(name) == wire
    assert map_names((name,)).back(wire) == name


def test_names_that_would_collide_are_told_apart_whatever_their_order() -> None:
    names = ("a.b", "a_b", "a:b")
    mapped = map_names(tuple(names))
    assert mapped.out("a_b") == "a_b"
    assert len({mapped.out(name) for name in names}) == 3
    assert [mapped.out(name) for name in names] == [map_names(tuple(reversed(names))).out(name) for name in names]


@given(st.lists(st.text(max_size=80), max_size=12))
def test_every_set_of_names_maps_to_allowed_distinct_names_and_back(names: list[str]) -> None:
    mapped = map_names(tuple(names))
    for name in names:
        assert ALLOWED.match(mapped.out(name))
        assert mapped.back(mapped.out(name)) == name


def test_a_name_that_nobody_offered_comes_back_as_it_is() -> None:
    assert map_names(("a.b",)).back("made_up") == "made_up"


def test_tools_that_only_the_transcript_remembers_are_mapped_too() -> None:
    past = Message("assistant", "", tool_calls=(ProposedCall("1", "old.tool", "{}"),))
    names = tool_names(LLMRequest("m", (past,), (ToolSpec("new.tool", "", {}),)))
    assert (names.out("old.tool"), names.out("new.tool")) == ("old_tool", "new_tool")


def test_missing_and_repeated_call_ids_are_replaced_by_ids_new_to_the_conversation() -> None:
    past = Message("assistant", "", tool_calls=(ProposedCall("call_2", "t", "{}"), ProposedCall("x", "t", "{}")))
    request = LLMRequest("m", (past,))
    ids = NewCallIds(request)
    given = ["", "mine", "mine", "x", ""]
    assert [ids.of(one) for one in given] == ["call_3", "mine", "call_4", "call_5", "call_6"]


@pytest.mark.parametrize("given_id", ["functions.bash:0", "", "ü", "x" * 65])
def test_a_foreign_call_id_becomes_one_that_every_api_takes(given_id: str) -> None:
    assert ALLOWED.match(call_id(given_id))
    assert call_id(given_id) == call_id(given_id) != call_id(given_id + "1")


def test_an_ordinary_call_id_stays() -> None:
    assert call_id("toolu_01AbC-9") == "toolu_01AbC-9"
