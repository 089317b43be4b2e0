"""Patterns mean the same on every Python from 3.11.0 on.

Before 3.11.5, where the last try of a possessive group fails half-way, the match goes on from where that try stood,
not from where the one before it ended. `|(?!)` as the group's last alternative sets it back.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import hookgate
from hookgate.redaction.shapes import Shape

NEVER = str(parser.parse("(?!)"))
PLAIN = (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY, ops.AT, ops.CATEGORY)


def patterns(value: object) -> Iterator[re.Pattern[Any]]:
    match value:
        case re.Pattern():
            yield value
        case Shape():
            yield re.compile(value.regex, value.flags | re.ASCII)
        case tuple() | list() | frozenset():
            for it in value:
                yield from patterns(it)
        case dict():
            yield from patterns([*value, *value.values()])
        case _:
            pass


def is_plain(items: Any) -> bool:
    """Nothing in it can fail after it has stored a place beyond its beginning."""
    return all(op in PLAIN or (at in (0, len(items) - 1) and is_run(op, it, at)) for at, (op, it) in enumerate(items))


def is_run(op: Any, argument: Any, at: int) -> bool:
    """Of one character, without a way back; further on only one that may be empty and so cannot fail."""
    if op is not ops.POSSESSIVE_REPEAT:
        return False
    least, _most, body = argument
    return len(body) == 1 and body[0][0] in PLAIN and (at == 0 or least == 0)


def stands_back(body: Any) -> bool:
    match [*body]:
        case [(ops.SUBPATTERN, (*_, inner))]:
            return stands_back(inner)
        case [(ops.BRANCH, (_, alternatives))]:
            return str(alternatives[-1]) == NEVER or all(is_plain(it) for it in alternatives)
        case _:
            return is_plain(body)


def faults(items: Any) -> Iterator[str]:
    for op, argument in items:
        if op is ops.POSSESSIVE_REPEAT and not stands_back(argument[2]):
            yield str(argument[2])
        for it in _below(argument):
            yield from faults(it)


def _below(argument: Any) -> Iterator[Any]:
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, (tuple, list)):
        for it in argument:
            yield from _below(it)


def test_no_possessive_group_ends_where_its_last_try_failed() -> None:
    found: dict[str, str] = {}
    count = 0
    for module in pkgutil.walk_packages(hookgate.__path__, "hookgate."):
        if module.name.rpartition(".")[2] == "__main__":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for pattern in patterns(value):
                count += 1
                text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
                for body in faults(parser.parse(text, pattern.flags & ~re.LOCALE)):
                    found[f"{module.name}.{name}"] = body
    assert count > 100
    assert found == {}
