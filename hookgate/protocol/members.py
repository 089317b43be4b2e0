"""The protocol's values as JSON and back, by the fields of their classes. Knows no table and no wire.

A member that is missing has its usual value, so members may be added, and nothing else may change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from hookgate.protocol.hook.answers import Answer
from hookgate.protocol.values.effects import Effect

_TAG = "type"
_TAGGED: frozenset[type] = frozenset((*get_args(Effect), *get_args(Answer)))
"""Those of which a field may hold several kinds: each says which it is."""


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON, or what becomes it
    """What stands in mappings and lists is JSON already."""
    kind = cast("type[object]", type(value))
    if names := _names(kind):
        members = {name: plain(getattr(value, name)) for name in names}
        return {_TAG: kind.__name__, **members} if kind in _TAGGED else members
    return [plain(item) for item in cast("tuple[object, ...]", value)] if isinstance(value, tuple) else value


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.init) if is_dataclass(kind) else ()


@cache
def reader(hint: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    """What makes a value of this type from its JSON."""
    kinds = [it for it in get_args(hint) if it is not NoneType] if get_origin(hint) in (Union, UnionType) else [hint]
    if all(map(is_dataclass, kinds)):
        made = _one_of(kinds)
        return lambda members: None if members is None else made(members)
    if get_origin(hint) is tuple:
        item = reader(get_args(hint)[0])
        return lambda items: tuple(map(item, items))
    return lambda value: value


def _one_of(kinds: list[type]) -> Callable[[dict[str, Any]], Any]:
    by_name = {kind.__name__: _of_class(kind) for kind in kinds}
    only = by_name[kinds[0].__name__] if len(kinds) == 1 else None
    return only or (lambda members: by_name[members[_TAG]](members))


def _of_class(kind: type) -> Callable[[Mapping[str, Any]], Any]:
    @cache
    def readers() -> dict[str, Callable[[Any], Any]]:
        """Not before one is read: a class may have a field of its own kind."""
        hints = get_type_hints(kind)
        return {field.name: reader(hints[field.name]) for field in fields(kind) if field.init}

    return lambda members: kind(**{name: read(members[name]) for name, read in readers().items() if name in members})
