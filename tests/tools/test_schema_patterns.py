"""Schemas of strangers that would make judging a call long: refused, or held to a budget."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.protocol.values import ToolSpec
from hookgate.tools.schema import MAX_STEPS, check_schema, problems
from hookgate.tools.schema_patterns import BUDGET_CHARS, MAX_BACKTRACKED_CHARS, MAX_PATTERNS
from hookgate.tools.schema_spec import spec_problem

LONG = "a" * (1 << 20) + "!"


def patterned(pattern: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"pattern": pattern}}}


def nested(depth: int) -> dict[str, Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return {"x": value}


CLASSIC = ["^(a+)+$", "^(a|aa)+$", "^(a|a)*$", r"^(\w+\s?)*$", "(x+x+)+y", "^(?=(a+)+$)(a+)+$", r"^(a+)+\1b$"]
"""Each takes exponential time where a careless engine tries everything."""


@pytest.mark.parametrize("pattern", CLASSIC)
def test_a_hostile_pattern_is_held_against_short_texts_and_no_long_one(pattern: str) -> None:
    schema = patterned(pattern)
    check_schema(schema)
    assert problems(schema, {"a": "!"}) == (f'a: "!" does not match "{pattern}"',)
    assert problems(schema, {"a": LONG}) == ()
    # However that ends, it ends.
    problems(schema, {"a": "a" * (MAX_BACKTRACKED_CHARS - 1) + "!"})
    problems(schema, {"a": "a" * (BUDGET_CHARS - 20) + "!"})


@pytest.mark.parametrize("pattern", ["(a{1000}){1000}", r"(\w{100}){100}", r"^[\s\S]{0,9999}$", r"\p{L}{2000}"])
def test_a_pattern_that_is_too_large_is_taken_and_not_held_against_anything(pattern: str) -> None:
    schema = patterned(pattern)
    check_schema(schema)
    assert problems(schema, {"a": "x"}) == ()
    assert problems(schema | {"required": ["b"]}, {"a": "x"}) == ("b is required",)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (patterned("("), "is no regular expression"),
        (patterned("(?<!a"), "is no regular expression"),
        (patterned("(" * 5000), "is no regular expression"),
        (
            {"properties": {f"p{i}": {"pattern": f"^{i}$"} for i in range(MAX_PATTERNS + 1)}},
            "more than 200 patterns",
        ),
        ({"patternProperties": {"(a{1000}){1000}": {}}}, "does not compile"),
    ],
)
def test_a_schema_that_cannot_be_judged_by_is_refused_with_the_reason(schema: dict[str, Any], reason: str) -> None:
    for provider in ("hook:h", "mcp:m"):
        assert reason in (spec_problem(ToolSpec("t", "", schema, provider=provider)) or "")


DOUBLING = {
    "properties": {"x": {"$ref": "#/$defs/a"}},
    "$defs": {"a": {"allOf": [{"items": {"$ref": "#/$defs/a"}}, {"items": {"$ref": "#/$defs/a"}}]}},
}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (DOUBLING, nested(60)),
        ({"properties": {"x": {"items": {"pattern": "^a$"}}}}, {"x": ["a"] * 50_000}),
        ({"properties": {"x": {"uniqueItems": True}}}, {"x": list(range(50_000))}),
        ({"properties": {"x": {"items": {"allOf": [{"minimum": n} for n in range(900)]}}}}, {"x": [1000] * 2000}),
    ],
)
def test_arguments_that_would_take_too_many_steps_are_refused(schema: dict[str, Any], arguments: Any) -> None:
    check_schema(schema)
    (problem,) = problems(schema, arguments)
    assert problem.endswith("values are too many to be held against this schema")
    assert MAX_STEPS >= 100_000


def test_of_very_many_mistakes_the_first_is_told() -> None:
    schema = {"properties": {"x": {"items": {"type": "string"}}}}
    assert problems(schema, {"x": list(range(100_000))}) == ('x.0: 0 is not of type "string"',)
    assert len(problems(schema, {"x": list(range(100))})) == 5


def test_large_content_beside_a_pattern_is_no_matter() -> None:
    schema = {"properties": {"path": {"pattern": "^/"}, "content": {"type": "string"}}}
    assert problems(schema, {"path": "/a", "content": LONG * 4}) == ()
    assert problems(schema, {"path": "a", "content": LONG * 4}) == ('path: "a" does not match "^/"',)


def test_what_only_looks_like_a_pattern_is_none() -> None:
    grep = {
        "properties": {"pattern": {"type": "string"}},
        "examples": [{"pattern": "("}],
        "default": {"pattern": "["},
    }
    check_schema(grep)
    assert problems(grep, {"pattern": "("}) == ()


def test_a_long_chain_of_references_is_judged_by_nothing_deep() -> None:
    chain: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(150)}
    schema = {
        "$defs": chain | {"d150": {"items": {"$ref": "#/$defs/d0"}}},
        "properties": {"x": {"$ref": "#/$defs/d0"}},
    }
    check_schema(schema)
    assert "too many" in problems(schema, nested(60))[0]


def test_every_call_has_the_whole_budget() -> None:
    schema = patterned("^a+$")
    text = "a" * (BUDGET_CHARS - 100)
    for _ in range(3):
        assert problems(schema, {"a": text}) == ()
        assert len(problems(schema, {"a": f"{text}!"})) == 1
