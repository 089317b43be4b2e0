"""How many schemas judge one value, before anything is judged: loops and references that multiply. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from hookgate.tools.errors import BadSpec
from hookgate.tools.schema.references import References, schemas

MAX_EXPANSION = 10_000
"""Steps at one place of a value, references followed: some hundred in the richest of real schemas."""

MAX_STEPS = 500_000
"""Schemas times values of one judgement: some 20 ms."""

MAX_VISITS = 50_000
"""Looks at subschemas that counting the steps may take: some 50 ms, once for each depth of a value."""

# Keywords whose subschemas may all judge the same part of what is in the value.
_INSIDE = (
    *("items", "additionalItems", "additionalProperties", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
# A schema that asks what is left over judges by its subschemas again, measured at up to 2.7 times.
_AGAIN = 3
_DEAR = 20
_COUNTING = -1


def check_cost(refs: References) -> None:
    """Raises BadSpec for a schema that refers to itself without consuming anything, or judges a value very often."""
    counted = _Steps(refs)
    try:
        if any(counted.of(node, 0) > MAX_EXPANSION for node in schemas(refs.root)):
            raise BadSpec(f"the schema judges one value by more than {MAX_EXPANSION} others")
    except RecursionError:
        raise BadSpec("the schema refers on and on, as if in a loop") from None


def steps(refs: References, depth: int) -> int:
    """How many schemas judge what lies on one way down into a value that nests so deep."""
    counted = _Steps(refs)
    try:
        found = counted.of(refs.root, depth)
    except RecursionError:
        return MAX_STEPS + 1
    return MAX_STEPS + 1 if counted.visits > MAX_VISITS else found


class _Steps:
    """What was counted once, by the subschema and the depth of the value below it, is known."""

    def __init__(self, refs: References) -> None:
        self._refs = refs
        self._known = dict[tuple[int, int], int]()
        self.visits = 0

    def of(self, node: object, depth: int) -> int:
        """Raises BadSpec where the subschema leads back to itself at the same place of the value."""
        self.visits += 1
        if not isinstance(node, Mapping) or (depth and self.visits > MAX_VISITS):
            return 0
        members = cast("Mapping[str, Any]", node)
        place = (id(members), depth)
        if place not in self._known:
            self._known[place] = _COUNTING
            here = sum(self.of(child, depth) for child in self._refs.same_place(members))
            if depth:
                here += sum(self.of(child, depth - 1) for child in _inside(members))
            named = max((self.of(child, depth - 1) for child in _named(members)), default=0) if depth else 0
            again = _AGAIN if "unevaluatedItems" in members or "unevaluatedProperties" in members else 1
            self._known[place] = min(MAX_STEPS + 1, _weight(members) + again * here + named)
        if self._known[place] == _COUNTING:
            raise BadSpec("the schema refers to itself in a loop")
        return self._known[place]


def _weight(members: Mapping[str, Any]) -> int:
    dear = "pattern" in members or "uniqueItems" in members
    return (_DEAR if dear else 1) + _DEAR * len(_object(members, "patternProperties"))


def _inside(members: Mapping[str, Any]) -> Iterator[object]:
    yield from (members[name] for name in _INSIDE if name in members)
    yield from _object(members, "patternProperties").values()


def _named(members: Mapping[str, Any]) -> Iterator[object]:
    """Subschemas of which each judges a part of its own."""
    yield from _object(members, "properties").values()
    for name in ("prefixItems", "items"):
        yield from cast("list[object]", members[name]) if isinstance(members.get(name), list) else ()


def _object(members: Mapping[str, Any], name: str) -> dict[str, object]:
    found = members.get(name)
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}
