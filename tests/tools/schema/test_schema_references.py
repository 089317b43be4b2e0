"""References of strangers' schemas: what is not followed while the schema is weighed is never compiled."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.tools.errors import BadSpec
from hookgate.tools.schema.check import check_schema, problems
from hookgate.tools.schema.cost import MAX_STEPS, steps
from hookgate.tools.schema.references import references

DRAFT_4, DRAFT_7 = (f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 7))


def forking(prefix: str, forks: int = 26, root: str = "") -> dict[str, Any]:
    """Judges `x` by two to the power of `forks` schemas."""
    steps = {f"a{n}": {"allOf": [{"$ref": f"{prefix}a{n + 1}"}] * 2} for n in range(forks)}
    return {
        "properties": {"x": {"$ref": f"{prefix}a0"}},
        "$defs": steps | {f"a{forks}": {"type": "string"}},
        **({"$id": root} if root else {}),
    }


def named(schema: dict[str, Any], key: str, prefix: str) -> dict[str, Any]:
    return schema | {"$defs": {name: it | {key: f"{prefix}{name}"} for name, it in schema["$defs"].items()}}


def nested(depth: int, keyword: str, **more: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {keyword: [schema], **more}
    return {"properties": {"x": schema}}


BOMBS: dict[str, dict[str, Any]] = {
    "encoded": forking("#/%24defs/"),
    "by the schema's own address": forking("http://x/s#/$defs/", root="http://x/s"),
    "relative to it": forking("s#/$defs/", root="http://x/s"),
    "the compiler's own address": forking("json-schema:///#/$defs/"),
    "by addresses below": named(forking("http://q/"), "$id", "http://q/"),
    "anchors": named(forking("#"), "$anchor", ""),
    "two anchors of a name": named(forking("#"), "$anchor", "") | {"examples": [{"$anchor": "a0"}]},
    "another base below": {"$ref": "#/$defs/b", "$defs": {"b": {"$id": "http://q/", **forking("#/$defs/")}}},
    "another base in the old way": {"$ref": "#/$defs/b", "$schema": DRAFT_4, "$defs": {"b": {"id": "http://q/"}}},
    "another dialect below": {"$ref": "#/$defs/b", "$defs": {"b": {"$schema": DRAFT_4, "id": "http://q/"}}},
    "an encoded slash": {"$ref": "#/$defs%2Fa", "$defs": {"a": {}}, "$defs/a": {}},
    "an index with zeros": {"$ref": "#/anyOf/0000000001", "anyOf": [{}, {}]},
    "the empty reference": {"allOf": [{"$ref": ""}]},
    "a loop, encoded": {"$ref": "#/%24defs/a", "$defs": {"a": {"$ref": "#/%24defs/a"}}},
    "a loop, the old way": {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#"},
    "a loop in dependencies": {"dependencies": {"x": {"$ref": "#"}}},
    "what is left over, again and again": nested(18, "anyOf", unevaluatedProperties=False),
}


@pytest.mark.parametrize("schema", BOMBS.values(), ids=BOMBS)
def test_a_schema_that_hides_what_it_costs_is_refused_before_it_is_compiled(schema: dict[str, Any]) -> None:
    with pytest.raises(BadSpec, match=r"no place in it|by more than|in a loop|below its root|two anchors"):
        check_schema(schema)
    with pytest.raises(BadSpec):
        problems(schema, {"x": 1})


@pytest.mark.parametrize("ref", ["#/%24defs/a", "#/$defs/a", "#z", "#/anyOf/0", "#/$defs/b~1c%20d"])
def test_references_into_the_schema_itself_lead_where_they_say(ref: str) -> None:
    text: dict[str, Any] = {"type": "string"}
    schema: dict[str, Any] = {
        "$id": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"x": {"$ref": ref}, "$id": {"type": "integer"}, "$ref": {"type": "integer"}},
        "$defs": {"a": text, "b/c d": text, "z": text | {"$anchor": "z"}},
        "anyOf": [text, {}],
    }
    check_schema(schema)
    assert problems(schema, {"x": "s", "$id": 1, "$ref": 1}) == ()
    assert problems(schema, {"x": 1}) == ('x: 1 is not of type "string"',)


def test_counting_the_steps_is_itself_held_to_a_budget() -> None:
    members: dict[str, Any] = {f"p{n}": {"$ref": "#z"} for n in range(700)}
    schema: dict[str, Any] = {"properties": members, "$defs": {"z": {"$anchor": "z", "properties": members}}}
    check_schema(schema)
    assert problems(schema, {"p0": {"p1": {}}}) == ()
    assert steps(references(schema), 60) > MAX_STEPS


@pytest.mark.parametrize("keyword", ["allOf", "anyOf"])
def test_of_a_long_text_that_many_schemas_judge_no_copies_are_made(keyword: str) -> None:
    schema: dict[str, Any] = {"properties": {"x": {keyword: [{"maxLength": n} for n in range(900)]}}}
    check_schema(schema)
    assert len(problems(schema, {"x": "y" * 2000})) >= 1
    (problem,) = problems(schema, {"x": "y" * 1_000_000})
    assert problem.startswith(("x: ", "the arguments do not fit the schema, and are too large"))


def test_a_long_text_is_not_counted_through_without_end() -> None:
    schema = forking("#/$defs/", 11)
    schema["$defs"]["a11"] = {"maxLength": 1 << 24}
    assert problems(schema, {"x": "y" * 1000}) == ()
    assert "too long" in problems(schema, {"x": "y" * 1_000_000})[0]


@pytest.mark.parametrize("dialect", [DRAFT_4, DRAFT_7])
def test_the_dialect_is_the_one_that_the_schema_names(dialect: str) -> None:
    pair: dict[str, Any] = {"items": [{"type": "number"}, {"format": "ipv4"}], "additionalItems": False}
    schema: dict[str, Any] = {"$schema": dialect, "properties": {"x": pair}}
    check_schema(schema)
    assert problems(schema, {"x": [1, "no address"]}) == ()
    assert problems(schema, {"x": ["a"]}) == ('x.0: "a" is not of type "number"',)
    assert "2 was unexpected" in problems(schema, {"x": [1, "a", 2]})[0]
