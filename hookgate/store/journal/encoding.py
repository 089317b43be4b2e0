"""The protocol's values as JSON in rows, and back: by the fields of their classes. Knows no table.

A member that an older hookgate did not write has its usual value; one that only a newer one knows is a StoreTooNew
by the row's format, so members may be added without a new format, and nothing else may change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hookgate.protocol.catalog import StoreCorrupt, StoreTooNew
from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.effects import Effect
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.answers import Answer, Modify
from hookgate.store.journal.schema import FORMAT

T = TypeVar("T")
_TAG = "type"
_TAGGED: frozenset[type] = frozenset((*get_args(Effect), *get_args(Answer)))
"""Those of which a field may hold several kinds: each says which it is."""


def encoded(value: object) -> bytes:
    # A chat waits for these, and nothing in them is tagged.
    return encode(value if isinstance(value, (Inbound, Outbound)) else _plain(value))


def decoded(kind: type[T], format_: int, text: bytes) -> T:
    """Raises StoreTooNew and StoreCorrupt, without the file's name."""
    return cast("T", _read(kind, format_, text))


def decoded_answer(format_: int, text: bytes) -> Answer:
    answer = cast("Answer", _read(Answer, format_, text))
    if isinstance(answer, Modify):
        # Of a message: lists in it are texts, as hooks give them.
        changes = {
            name: tuple(cast("list[str]", it)) if isinstance(it, list) else it for name, it in answer.changes.items()
        }
        return Modify(changes)
    return answer


def _read(hint: Any, format_: int, text: bytes) -> object:  # noqa: ANN401 - a type, or a union of them
    if format_ > FORMAT:
        raise StoreTooNew(f"holds rows of format {format_}, made by a newer hookgate; this one knows {FORMAT}")
    try:
        return _reader(hint)(decode(text))
    except (BadMessage, KeyError, TypeError, ValueError) as error:
        raise StoreCorrupt(f"holds a row that cannot be read: {error}") from None


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON, or what becomes it
    """What stands in mappings and lists is JSON already."""
    kind = cast("type[object]", type(value))
    if names := _names(kind):
        members = {name: _plain(getattr(value, name)) for name in names}
        return {_TAG: kind.__name__, **members} if kind in _TAGGED else members
    return [_plain(item) for item in cast("tuple[object, ...]", value)] if isinstance(value, tuple) else value


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


@cache
def _reader(hint: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    """What makes a value of this type from its JSON."""
    kinds = [it for it in get_args(hint) if it is not NoneType] if get_origin(hint) in (Union, UnionType) else [hint]
    if all(map(is_dataclass, kinds)):
        made = _one_of(kinds)
        return lambda members: None if members is None else made(members)
    if get_origin(hint) is tuple:
        item = _reader(get_args(hint)[0])
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
        return {field.name: _reader(hints[field.name]) for field in fields(kind) if field.init}

    return lambda members: kind(**{name: read(members[name]) for name, read in readers().items() if name in members})
