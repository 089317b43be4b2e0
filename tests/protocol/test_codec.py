"""JSON at its edges: what decodes is exact, what is not JSON is refused, and whatever decoded encodes again."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import Encoded, canonical, decode, encode, repeated_member
from hookgate.protocol.errors import BadMessage


@pytest.mark.parametrize("number", [0, -1, 2**53 + 1, 2**63, 2**64, 10**40, -(10**40)])
def test_an_integer_of_any_size_survives_both_ways(number: int) -> None:
    value = decode(b'{"n":%d}' % number)
    assert value == {"n": number}
    assert type(value["n"]) is int
    assert decode(encode(value)) == value
    assert str(number).encode() in canonical(value)


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "[NaN]",
        '["\\u0041", NaN]',
        "1e999",
        '{"a":[-1e400]}',
        '["\\ud800",1e999]',
        "",
        "{",
        '{"a":1,}',
        "{'a':1}",
        "\ufeff{}",
        "nul",
        "01",
        '"\t"',
        "{} {}",
        '{"\\u12":1}',
    ],
)
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(BadMessage):
        decode(text.encode())
    with pytest.raises(BadMessage):
        decode(text)


def test_invalid_utf8_is_refused() -> None:
    with pytest.raises(BadMessage):
        decode(b'"\xff\xfe"')


@pytest.mark.parametrize("text", ['"a\\ud800b"', '"a\\udc00b"', '{"a\\ud800b":1}', '["a\\ud800b",["x"]]'])
def test_a_lone_surrogate_becomes_the_replacement_character(text: str) -> None:
    shown = json.dumps(decode(text), ensure_ascii=False)
    assert "a\ufffdb" in shown
    encode(decode(text)).decode("utf-8")


def test_a_pair_of_surrogates_is_one_character_also_beside_a_lone_one() -> None:
    assert decode('["\\ud83d\\ude00","\\ud800"]') == ["\U0001f600", "\ufffd"]


@pytest.mark.parametrize("escape", ["", '"\\u0041",'])
@pytest.mark.parametrize("depth", [100_000, 5_000, 1_100])
def test_nesting_too_deep_is_refused_and_never_a_crash(depth: int, escape: str) -> None:
    with pytest.raises(BadMessage):
        decode("[" + escape + "[" * depth + "]" * depth + "]")


def test_nesting_of_a_hundred_and_fifty_levels_is_read() -> None:
    text = b'{"a":' * 150 + b"1" + b"}" * 150
    assert encode(decode(text)) == text


def test_encoding_keeps_a_surrogate_that_came_from_elsewhere_as_an_escape() -> None:
    assert encode({"a": "\ud800"}) == b'{"a":"\\ud800"}'


@pytest.mark.parametrize("text", ["é", "\ud800"])
def test_a_value_of_a_class_is_encoded_as_its_fields(text: str) -> None:
    value = Chat("web", "ann", thread=text)
    assert encode({"chats": (value,)}) == encode({"chats": [asdict(value)]})


def test_the_canonical_spelling_does_not_depend_on_the_order_of_members() -> None:
    one = {"b": [1, 2.5, {"y": None, "x": "é"}], "a": True}
    two = {"a": True, "b": [1, 2.5, {"x": "é", "y": None}]}
    assert canonical(one) == canonical(two) == '{"a":true,"b":[1,2.5,{"x":"é","y":null}]}'.encode()


def test_the_canonical_spelling_of_big_integers_is_sorted_and_compact_too() -> None:
    assert canonical({"b": 2**70, "a": "é"}) == f'{{"a":"é","b":{2**70}}}'.encode()


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_whatever_is_encoded_decodes_to_the_same_value(value: Any) -> None:
    assert decode(encode(value)) == value
    assert decode(canonical(value)) == value


@given(JSON)
def test_one_frame_is_one_line(value: Any) -> None:
    assert b"\n" not in encode(value)


def members_of(text: str) -> Any:
    return repeated_member(text.encode(), decode(text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"a":1,"a":1}', "a"),
        ('{"a" : 1, "b":{"x":[{"y" :1,"y": 2}]}}', "y"),
        ('{"approved":false,"\\u0061pproved":true}', "approved"),
        ('{"a":"\\u003a","a":1,"b":"\\u003A"}', "a"),
        ('{"a":"::","a":1}', "a"),
        ('{"":1,"":2}', ""),
    ],
)
def test_a_member_that_stands_twice_is_found_at_any_depth_and_in_any_spelling(text: str, name: str) -> None:
    assert members_of(text) == name


@given(JSON, st.booleans())
def test_no_member_of_an_honest_value_stands_twice(value: Any, plain: bool) -> None:
    text = json.dumps(value, ensure_ascii=plain)
    assert members_of(text) is None
    assert members_of(text.replace("~", "\\u003a")) is None


def test_a_part_that_is_encoded_already_is_taken_over_as_it_stands() -> None:
    part = Encoded('{"b":1,"a":"ü"}'.encode())
    assert encode({"x": part, "y": "ü"}) == '{"x":{"b":1,"a":"ü"},"y":"ü"}'.encode()
    assert json.loads(encode({"x": part, "y": 2**70})) == {"x": {"b": 1, "a": "ü"}, "y": 2**70}


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        encode({"x": object()})
