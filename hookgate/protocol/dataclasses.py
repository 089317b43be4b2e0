"""Dataclasses as the standard library has them, whose methods are made when they are first used.

The library compiles six methods for each class while it is imported, half a millisecond that a start has hundreds of
times, most of them for nothing; and a frozen value fills its slots two and a half times as fast through their
descriptors as through `object.__setattr__`, and many of them several times as fast again while it is not frozen yet.
Knows nothing of what the classes are for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from types import GenericAlias, MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

T = TypeVar("T")
WORTH_OPENING = 4
"""Slots."""


def _dataclass(
    cls: type[Any] | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True
) -> Any:  # noqa: ANN401 - a class, or what makes one
    """Both kinds of `dataclass`, with and without brackets; below a frozen class there are only such as are made
    here."""
    if cls is None:
        return partial(_dataclass, frozen=frozen, slots=slots, eq=eq, repr=repr)
    own = vars(cls)
    hashed = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    # Else the library writes one, from the signature.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made = _with_fields(cls, slots=slots)
    _refuse_unknown(made, frozen=frozen)
    compared = tuple(it.name for it in fields(made) if it.compare)
    methods: dict[str, Any] = {"__init__": _init(made, frozen=frozen), "__compared__": _values(compared)}
    given = tuple(it.name for it in fields(made) if it.init)
    # Two more than are given, so that it is a tuple whatever is given.
    places = {name: place for place, name in enumerate(given)}
    methods["__given__"] = places, attrgetter(*given, "__class__", "__class__")
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods["__eq__"] = _eq
        methods |= {} if hashed else {"__hash__": _hash if frozen else None}
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        methods |= {"__getstate__": _state, "__setstate__": _restore} if slots else {}
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and not hashed):
            setattr(made, name, method)
    return made


def _with_fields(cls: type[Any], *, slots: bool) -> type[Any]:
    """The library reads each annotation that is a string three times, for words that mean something to it: here it is
    given what they mean."""
    written: dict[str, Any] = vars(cls).get("__annotations__", {})
    cls.__annotations__ = {name: _meant(text) for name, text in written.items()}
    made: type[Any] = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    made.__annotations__ = written
    for name, field in made.__dataclass_fields__.items():
        field.type = written.get(name, field.type)
    return made


def _meant(written: object) -> object:
    if not isinstance(written, str) or written.startswith(("InitVar", "KW_ONLY")):
        return written
    return ClassVar if written.startswith("ClassVar") else object


def _refuse_unknown(made: type[Any], *, frozen: bool) -> None:
    """What the methods here would do otherwise than the library's. Raises TypeError."""
    declared: dict[str, Any] = vars(made)["__dataclass_fields__"]
    for name, it in declared.items():
        if it.kw_only is True or it.hash is not None or it._field_type is dataclasses._FIELD_INITVAR:  # type: ignore[attr-defined]
            raise TypeError(f"{made.__qualname__}.{name}: kw_only, hash and InitVar are not made here")
    for base in made.__mro__[1:]:
        params = vars(base).get("__dataclass_params__")
        if params is not None and frozen != (params.frozen or vars(base).get("__setattr__") is _refuse_to_set):
            raise TypeError(f"{made.__qualname__}: of it and {base.__qualname__} one is frozen and one is not")


def _values(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """These attributes of whatever it is given. No method of whoever has it, for it is no function."""
    return attrgetter(*names) if names else attrgetter("__class__")


def _init(cls: type[Any], *, frozen: bool) -> Callable[..., None]:
    """Compiles itself when the first value is made."""

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: ANN401
        compiled = _compiled(cls, frozen=frozen)
        # Unless the class, or another thread, has another by now.
        if vars(cls)["__init__"] is __init__:
            setattr(cls, "__init__", compiled)  # noqa: B010 - a type checker takes it for a call
        compiled(self, *arguments, **named)

    return __init__


def _compiled(cls: type[Any], *, frozen: bool) -> Callable[..., None]:
    parameters, values = list[str](), dict[str, str]()
    known: dict[str, Any] = {"_missing": MISSING, "__name__": cls.__module__}
    for field in fields(cls):
        name, given, usual = field.name, field.name, ""
        if field.default_factory is not MISSING:
            # Made of `list[str]`, a list takes twelve times as long as of `list`, and is the same.
            made = field.default_factory
            known[f"_make_{name}"] = made.__origin__ if isinstance(made, GenericAlias) else made
            given = f"_make_{name}() if {name} is _missing else {name}" if field.init else f"_make_{name}()"
            usual = "=_missing"
        elif field.default is not MISSING:
            known[f"_usual_{name}"] = field.default
            given = name if field.init else f"_usual_{name}"
            usual = f"=_usual_{name}"
        elif not field.init:
            continue
        parameters += [name + usual] if field.init else []
        values[name] = given
    lines = _filled(cls, values, known) if frozen else [f" self.{name} = {given}" for name, given in values.items()]
    lines += [" self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    text = "\n".join([f"def __init__(self, {', '.join(parameters)}):", *(lines or [" pass"])])
    exec(text, known)  # noqa: S102 - of names that a class has
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _filled(cls: type[Any], values: dict[str, str], known: dict[str, Any]) -> list[str]:
    """The lines that fill a frozen value. One of several slots is of a class that is not frozen meanwhile: to go
    there and back costs as much as two slots through their descriptors."""
    slots = {name: slot for name in values if isinstance(slot := getattr(cls, name, None), MemberDescriptorType)}
    if len(slots) == len(values) >= WORTH_OPENING:
        known |= {"_opened": _OPENED, "_become": vars(object)["__class__"].__set__}
        stores = [f" self.{name} = {given}" for name, given in values.items()]
        return [" its = self.__class__", " _become(self, _opened[its])", *stores, " self.__class__ = its"]
    known |= {"_set": object.__setattr__, **{f"_set_{name}": slot.__set__ for name, slot in slots.items()}}
    return [
        f" _set_{name}(self, {given})" if name in slots else f" _set(self, {name!r}, {given})"
        for name, given in values.items()
    ]


class _Opened(dict[type[Any], type[Any]]):
    """Of each class one whose values are the same but for being frozen."""

    def __missing__(self, cls: type[Any]) -> type[Any]:
        members = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
        kind: Any = type(cls)
        self[cls] = kind(cls.__name__, (cls,), members)
        return self[cls]


_OPENED = _Opened()


@recursive_repr()
def _repr(self: Any) -> str:  # noqa: ANN401
    told = (f"{it.name}={getattr(self, it.name)!r}" for it in fields(self) if it.repr)
    return f"{type(self).__qualname__}({', '.join(told)})"


def _eq(self: Any, other: Any) -> bool:  # noqa: ANN401
    compared: Callable[[Any], object] = self.__compared__
    return compared(self) == compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:  # noqa: ANN401
    return hash(self.__compared__(self))


def _refuse_to_set(_self: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:  # noqa: ANN401
    return [getattr(self, it.name) for it in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:  # noqa: ANN401
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def _replace(value: Any, /, **changes: Any) -> Any:  # noqa: ANN401
    given: tuple[dict[str, int], Callable[[Any], Any]] | None = getattr(value, "__given__", None)
    if given is None or not changes.keys() <= given[0].keys():
        return dataclasses.replace(value, **changes)
    places, values = given
    arguments = list(values(value))
    for name, changed in changes.items():
        arguments[places[name]] = changed
    return value.__class__(*arguments[:-2])


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:
    dataclass, replace = _dataclass, _replace
