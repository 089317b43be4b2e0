"""Schemas of strangers that would make judging a call long: refused, or held to a budget."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.protocol.values import ToolSpec
from hookgate.tools.schema.check import MAX_STEPS, check_schema, problems
from hookgate.tools.schema.patterns import BUDGET_CHARS, MAX_BACKTRACKED_CHARS, MAX_PATTERNS
from hookgate.tools.schema.spec import spec_problem

LONG = "a" * (1 << 20) + "!"
TOO_LONG = ("there is more text than can be checked against this schema's patterns",)


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
def test_a_hostile_pattern_is_held_against_short_texts_and_a_long_one_is_refused(pattern: str) -> None:
    schema = patterned(pattern)
    check_schema(schema)
    assert problems(schema, {"a": "!"}) == (f'a: "!" does not match "{pattern}"',)
    assert problems(schema, {"a": LONG}) == TOO_LONG
    assert problems(schema, {"a": "a" * (MAX_BACKTRACKED_CHARS - 1) + "!"})
    assert problems(schema, {"a": "a" * (BUDGET_CHARS - 20) + "!"})


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [("^.{1,1000}$", "a" * 1000, "a" * 1001), ("^.{1,255}$", "\u20ac" * 255, ""), (r"(\w{100}){100}", "", "x")],
)
def test_a_large_pattern_is_held_against_less_text(pattern: str, fitting: str, other: str) -> None:
    schema = patterned(pattern)
    check_schema(schema)
    assert not fitting or problems(schema, {"a": fitting}) == ()
    (problem,) = problems(schema, {"a": other})
    assert problem.endswith(f'does not match "{pattern}"')
    assert problems(schema, {"a": "a" * 4096}) == TOO_LONG


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"note": {"pattern": r"^[\s\S]*$"}, "path": {"pattern": "^/safe/"}}},
        {"properties": {"note": {}, "path": {"not": {"pattern": "^/etc"}}}},
        {"properties": {"note": {}, "path": {"anyOf": [{"pattern": "^/safe/"}, {"type": "null"}]}}},
        {"properties": {"note": {}, "path": {"pattern": "^(?!/etc)"}}},
        {"properties": {"note": {}, "path": {"if": {"pattern": "^/etc"}, "then": False}}},
    ],
)
def test_no_length_of_the_text_switches_a_pattern_off(schema: dict[str, Any]) -> None:
    check_schema(schema)
    assert problems(schema, {"note": "x", "path": "/etc/shadow"})
    assert (
        problems(schema, {"note": "x" * BUDGET_CHARS, "path": "/etc/" + "./" * BUDGET_CHARS + "shadow"}) == TOO_LONG
    )


def test_names_are_held_against_patterns_within_a_budget() -> None:
    schema: dict[str, Any] = {"patternProperties": {"^(k|kk)+$": {"type": "integer"}}}
    check_schema(schema)
    assert problems(schema, {"k": "x"}) == ('k: "x" is not of type "integer"',)
    assert problems(schema, {"k" * 1_000_000: "x"}) == TOO_LONG


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (patterned("("), "is no regular expression"),
        (patterned("(?<!a"), "is no regular expression"),
        (patterned("(" * 5000), "is no regular expression"),
        (patterned("(a{1000}){1000}"), "too large"),
        (patterned(r"^[\s\S]{0,9999}$"), "too large"),
        ({"properties": {f"p{i}": {"pattern": f"^.{{1,{i}00}}$"} for i in range(5, 14)}}, "too many large ones"),
        ({"patternProperties": dict.fromkeys(map(str, range(MAX_PATTERNS + 1)), True)}, "more than 200 patterns"),
        (
            {"properties": {f"p{i}": {"pattern": f"^{i}$"} for i in range(MAX_PATTERNS + 1)}},
            "more than 200 patterns",
        ),
        ({"patternProperties": {"^(?=k)(k|kk)+$": {"type": "integer"}}}, "does not compile"),
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
    grep: dict[str, Any] = {
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
