"""How many schemas judge one value, before anything is judged: loops and references that multiply. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from hookgate.tools.errors import BadSpec
from hookgate.tools.schema.references import References, schemas

MAX_EXPANSION = 10_000
"""Schemas that judge one value, references followed: some hundred in the richest of real ones."""

MAX_STEPS = 500_000
"""Schemas times values of one judgement: some 20 ms."""

MAX_VISITS = 50_000
"""Looks at subschemas that counting the steps may take: some 50 ms, once for each depth of a value."""

# References that lead to references: no sensible schema has more, and the search for loops recurses.
_MAX_CHAIN = 200
# Keywords whose subschemas judge what is in the value.
_INSIDE = (
    *("items", "additionalItems", "additionalProperties", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
# A schema that asks what is left over judges by its subschemas again, measured at up to 2.7 times.
_AGAIN = 3
_DEAR = 20


def check_cost(refs: References) -> None:
    """Raises BadSpec for a schema that refers to itself without consuming anything, or judges a value very often."""
    done = set[int]()
    if any(_leads_to_itself(start, refs, done, ()) for start in schemas(refs.root)):
        raise BadSpec("the schema refers to itself in a loop")
    known = dict[int, int]()
    if any(_expansion(start, refs, known) > MAX_EXPANSION for start in schemas(refs.root)):
        raise BadSpec(f"the schema judges one value by more than {MAX_EXPANSION} others")


def steps(refs: References, depth: int) -> int:
    """How many schemas judge what lies on one way down into a value that nests so deep."""
    seen = _Ways(refs)
    try:
        found = _ways(refs.root, depth, seen)
    except RecursionError:
        return MAX_STEPS + 1
    return MAX_STEPS + 1 if seen.left < 0 else found


def _leads_to_itself(node: object, refs: References, done: set[int], above: tuple[int, ...]) -> bool:
    if not isinstance(node, Mapping) or id(cast("object", node)) in done:
        return False
    members = cast("Mapping[str, Any]", node)
    if id(members) in above or len(above) > _MAX_CHAIN:
        return True
    inner = (*above, id(members))
    looping = any(_leads_to_itself(child, refs, done, inner) for child in refs.same_place(members))
    done.add(id(members))
    return looping


def _expansion(node: object, refs: References, known: dict[int, int]) -> int:
    """How many schemas judge one value at this place: references that fork at every step multiply."""
    if not isinstance(node, Mapping):
        return 0
    members = cast("Mapping[str, Any]", node)
    if id(members) not in known:
        known[id(members)] = MAX_EXPANSION  # should a loop come past the search for loops
        here = sum(_expansion(child, refs, known) for child in refs.same_place(members))
        known[id(members)] = min(MAX_EXPANSION + 1, 1 + _times(members) * here)
    return known[id(members)]


@dataclass
class _Ways:
    refs: References
    known: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    left: int = MAX_VISITS


def _ways(node: object, depth: int, seen: _Ways) -> int:
    seen.left -= 1
    if not isinstance(node, Mapping) or seen.left < 0:
        return 0
    members = cast("Mapping[str, Any]", node)
    place = (id(members), depth)
    if place not in seen.known:
        seen.known[place] = MAX_STEPS  # should a loop come past the search for loops
        here = sum(_ways(child, depth, seen) for child in seen.refs.same_place(members))
        below = sum(_ways(child, depth - 1, seen) for child in _inside(members)) if depth else 0
        named = max((_ways(child, depth - 1, seen) for child in _named(members)), default=0) if depth else 0
        seen.known[place] = min(MAX_STEPS + 1, _weight(members) + _times(members) * (here + below) + named)
    return seen.known[place]


def _weight(members: Mapping[str, Any]) -> int:
    patterned = members.get("patternProperties")
    names = len(cast("dict[str, object]", patterned)) if isinstance(patterned, dict) else 0
    return (_DEAR if "pattern" in members or "uniqueItems" in members else 1) + _DEAR * names


def _times(members: Mapping[str, Any]) -> int:
    return _AGAIN if any(name in members for name in _UNEVALUATED) else 1


def _inside(members: Mapping[str, Any]) -> Iterator[object]:
    """Subschemas that may all judge the same part of the value."""
    for name in _INSIDE:
        if name in members:
            yield members[name]
    patterned = members.get("patternProperties")
    yield from cast("dict[str, object]", patterned).values() if isinstance(patterned, dict) else ()


def _named(members: Mapping[str, Any]) -> Iterator[object]:
    """Subschemas of which each judges a part of its own."""
    properties = members.get("properties")
    yield from cast("dict[str, object]", properties).values() if isinstance(properties, dict) else ()
    for name in ("prefixItems", "items"):
        yield from cast("list[object]", members[name]) if isinstance(members.get(name), list) else ()
