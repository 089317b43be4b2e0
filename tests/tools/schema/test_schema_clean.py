"""Generated schemas are cleaned by keyword; schemas of strangers are left as they came."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools.dispatch import settled_arguments
from hookgate.tools.registry import Registry
from hookgate.tools.schema.clean import MAX_INLINED, cleaned, closed
from hookgate.tools.schema.signature import MAX_CHARS, signature
from hookgate.tools.schema.spec import spec_problem

NOISY = ("title", "description", "default", "examples", "example", "$comment", "discriminator", "anyOf")

FOREIGN: dict[str, Any] = {
    "$comment": "kept",
    "title": "kept",
    "type": ["object"],
    "properties": {
        **{name: {"type": ["string", "null"], "title": name} for name in NOISY},
        "pair": {"prefixItems": [{"type": "integer"}, True], "items": False},
        "anything": True,
        "code": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2},
        "size": {"anyOf": [{"type": "integer", "maximum": 9}, {"const": "all"}]},
        "inner": {"$ref": "#/$defs/inner"},
    },
    "$defs": {"inner": {"type": "object", "required": ["x"], "properties": {"x": {"minimum": 1}}}},
}


class Foreign:
    spec = ToolSpec("foreign", "", FOREIGN, provider="mcp:x")

    async def execute(self, call: ToolCall) -> ToolResult:
        return ToolResult("ran")


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    properties = {name: {"type": "string", "title": "Noise", "description": name} for name in NOISY}
    schema = cleaned({"type": "object", "title": "Args", "properties": properties, "required": list(NOISY)})
    assert "title" not in schema
    assert schema["properties"] == {name: {"type": "string", "description": name} for name in NOISY}
    assert schema["required"] == list(NOISY)


def test_values_that_look_like_schemas_stay_as_they_are() -> None:
    value = {"title": "t", "anyOf": [{"type": "null"}], "$ref": "#/$defs/x"}
    schema = {"default": value, "examples": [value], "enum": [value], "const": value}
    assert cleaned({"properties": {"a": schema}}) == {"properties": {"a": schema}}


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (
            {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None},
            {"type": "integer", "minimum": 1},
        ),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}], "default": 3}, {"type": "integer", "default": 3}),
        (
            {"anyOf": [{"type": "integer", "description": "old"}, {"type": "null"}], "description": "new"},
            {"type": "integer", "description": "new"},
        ),
        (
            {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}], "default": None},
            {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        ),
        ({"anyOf": [{"type": "null"}]}, {"anyOf": [{"type": "null"}]}),
        ({"type": "string", "default": None}, {"type": "string", "default": None}),
        ({"anyOf": [{"type": "integer"}, True]}, {"anyOf": [{"type": "integer"}, True]}),
        (
            {"items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "prefixItems": [{"title": "x"}, False]},
            {"items": {"type": "integer"}, "prefixItems": [{}, False]},
        ),
    ],
)
def test_an_optional_value_is_its_type_alone(given_: dict[str, Any], expected: dict[str, Any]) -> None:
    assert cleaned({"properties": {"a": given_}}) == {"properties": {"a": expected}}


def test_definitions_are_put_where_they_are_used_and_what_stands_beside_the_reference_wins() -> None:
    schema = {
        "$defs": {
            "Outer": {"title": "Outer", "properties": {"in": {"$ref": "#/$defs/Inner"}}, "description": "old"},
            "Inner": {"type": "integer", "title": "Inner"},
            "Tree": {"properties": {"kids": {"items": {"$ref": "#/$defs/Tree"}}, "leaf": {"$ref": "#/$defs/Inner"}}},
        },
        "properties": {
            "a": {"$ref": "#/$defs/Outer", "description": "new"},
            "b": {"anyOf": [{"$ref": "#/$defs/Inner"}, {"type": "null"}], "default": None},
            "t": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]},
        },
    }
    assert cleaned(schema) == {
        "properties": {
            "a": {"properties": {"in": {"type": "integer"}}, "description": "new"},
            "b": {"type": "integer"},
            "t": {"$ref": "#/$defs/Tree"},
        },
        "$defs": {"Tree": {"properties": {"kids": {"items": {"$ref": "#/$defs/Tree"}}, "leaf": {"type": "integer"}}}},
    }


def test_definitions_that_would_multiply_without_end_stay_definitions() -> None:
    def link(number: int) -> dict[str, Any]:
        next_ = {"$ref": f"#/$defs/d{number + 1}"}
        return {"properties": {"a": next_, "b": next_}}

    definitions = {f"d{i}": link(i) for i in range(60)} | {"d60": {"type": "integer"}}
    schema = cleaned({"$defs": definitions, "properties": {"x": {"$ref": "#/$defs/d0"}}})
    assert schema["properties"] == {"x": {"$ref": "#/$defs/d0"}}
    assert len(schema["$defs"]) == 61 < MAX_INLINED  # type: ignore[arg-type]


def test_the_given_schema_is_left_alone() -> None:
    schema = {"title": "T", "$defs": {"A": {"title": "A"}}, "properties": {"a": {"$ref": "#/$defs/A"}}}
    kept = {"title": "T", "$defs": {"A": {"title": "A"}}, "properties": {"a": {"$ref": "#/$defs/A"}}}
    cleaned(schema)
    closed(schema)
    assert schema == kept


LEAVES = st.sampled_from(
    [
        {"type": "integer"},
        {"type": "string", "minLength": 1},
        {"type": ["string", "boolean"]},
        {"enum": ["a", 1]},
        {"const": 2},
        {"$ref": "#/$defs/A"},
        {"$ref": "#/$defs/Tree"},
        True,
        {},
    ]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        inner.map(lambda it: {"items": it, "title": "T"})
        | st.lists(inner, min_size=1, max_size=2).map(lambda it: {"anyOf": it, "title": "U"})
        | st.lists(inner, min_size=1, max_size=2).map(lambda it: {"prefixItems": it})
        | st.dictionaries(st.sampled_from(["title", "a", "$ref"]), inner, max_size=2).map(
            lambda it: {"type": "object", "properties": it, "title": "O"}
        )
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.sampled_from([1, 2, "", "a", True, None]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["title", "a", "$ref"]), inner, max_size=2)
    ),
    max_leaves=6,
)


@given(SCHEMAS, st.lists(VALUES, min_size=3, max_size=8))
def test_a_cleaned_schema_takes_and_refuses_what_it_did_before(schema: Any, values: list[Any]) -> None:
    definitions = {
        "A": {"title": "A", "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        "Tree": {"title": "Tree", "type": "array", "items": {"$ref": "#/$defs/Tree"}},
    }
    whole = {"$defs": definitions, "properties": {"x": schema}}
    before, after = (jsonschema_rs.Draft202012Validator(it) for it in (whole, cleaned(whole)))
    for value in values:
        assert before.is_valid({"x": value}) == after.is_valid({"x": value})


# --- strangers --------------------------------------------------------------------------------------------------


def test_a_strangers_schema_is_kept_and_sent_unchanged() -> None:
    registry = Registry()
    registry.register(Foreign())
    assert registry.snapshot().specs[0].parameters is FOREIGN


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"title": None, "example": "x", "pair": [1, "any"], "anything": None, "size": "all"}, None),
        ({"title": 1}, 'title: 1 is not of types "null", "string"'),
        ({"code": None}, 'code: null is not of type "string"'),
        ({"code": "A1"}, "code: "),
        ({"size": 10}, "size: "),
        ({"size": True}, "size: "),
        ({"pair": [1, 2, 3]}, "pair"),
        ({"pair": ["1"]}, "pair.0: "),
        ({"inner": {}}, "inner.x is required"),
        ({"inner": {"x": 0}}, "inner.x: "),
    ],
)
def test_all_of_a_strangers_schema_is_heeded(arguments: dict[str, Any], reason: str | None) -> None:
    call = ToolCall("c", "foreign", arguments)
    settled = settled_arguments(Foreign(), call)
    if reason is None:
        assert settled is call
    else:
        assert isinstance(settled, ToolResult)
        assert reason in settled.for_llm


def test_an_unknown_key_in_an_inner_object_is_guessed_at() -> None:
    inner = {"type": "object", "properties": {"old_text": {}}, "additionalProperties": False}
    spec = ToolSpec("t", "", {"type": "object", "properties": {"edits": {"type": "array", "items": inner}}})
    settled = settled_arguments(spec, ToolCall("c", "t", {"edits": [{"oldText": ""}]}))
    assert isinstance(settled, ToolResult)
    assert "edits.0: " in settled.for_llm
    assert "(did you mean old_text?)" in settled.for_llm


def test_the_problem_of_an_injected_spec_is_a_value() -> None:
    assert spec_problem(Foreign.spec) is None
    assert spec_problem(ToolSpec("no name", "", {})) is not None
    assert "loop" in str(spec_problem(ToolSpec("t", "", {"$ref": "#"})))


# --- the signature ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("properties", "required", "line"),
    [
        ({}, [], "t()"),
        ({"a": {"type": "integer"}, "b": {"type": "string"}}, ["a"], "t(a: integer, b?: string)"),
        ({"a": {"enum": ["x", 1], "default": "x"}}, [], 't(a: "x" | 1 = "x")'),
        ({"a": {"anyOf": [{"type": "integer"}, {"const": "all"}]}}, ["a"], 't(a: integer | "all")'),
        ({"a": {"type": "array", "items": {"properties": {"b": {}}}}}, ["a"], "t(a: [{b?: any}])"),
        (
            {"a": {"type": "array"}, "b": True, "c": {"$ref": "#/$defs/x"}},
            ["a", "b", "c"],
            "t(a: array, b: any, c: any)",
        ),
    ],
)
def test_arguments_in_one_line(properties: dict[str, Any], required: list[str], line: str) -> None:
    assert signature("t", {"properties": properties, "required": required}) == line


def test_a_signature_is_one_short_line_however_deep_the_schema_is() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(60):
        deep = {"type": "object", "properties": {"a": deep, "b": deep}}
    assert len(signature("t", deep)) <= MAX_CHARS + 3
    wide = {f"argument_{i}": {"type": "string", "default": "\n"} for i in range(500)}
    assert "\n" not in signature("t", {"properties": wide})
