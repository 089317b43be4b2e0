"""Our dataclasses beside the standard library's: nobody can tell them apart, but for when their methods are made."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from pydantic import BaseModel

from hookgate.protocol.dataclasses import dataclass, replace

T = TypeVar("T")
Decorator = Callable[..., Any]
BOTH = pytest.mark.parametrize("made", [dataclasses.dataclass, dataclass], ids=["theirs", "ours"])


def kinds(made: Decorator) -> list[type[Any]]:
    """Of each way in which this project uses them."""

    @made(frozen=True, slots=True)
    class Value:
        name: str
        parts: tuple[str, ...] = ()
        tags: list[str] = field(default_factory=list[str])
        kept: dict[str, bytes] = field(default_factory=dict[str, bytes], init=False, compare=False, repr=False)
        limit: ClassVar[int] = 3

    @made(frozen=True)
    class Open:
        name: str
        parts: tuple[str, ...] = ()
        tags: list[str] = field(default_factory=list[str], compare=False)

    @made
    class Changing:
        name: str
        parts: tuple[str, ...] = ()
        tags: list[str] = field(default_factory=list[str])

    @made(frozen=True, slots=True)
    class Below(Value):
        more: int = 0

        def __post_init__(self) -> None:
            if self.more < 0:
                raise ValueError("less than nothing")

    @made(frozen=True, slots=True)
    class Of(Generic[T]):
        name: T
        parts: tuple[str, ...] = ()
        tags: tuple[str, ...] = ()

    @made(frozen=True, slots=True)
    class Own:
        name: str
        parts: tuple[str, ...] = ()
        tags: tuple[str, ...] = ()

        def __eq__(self, other: object) -> bool:
            return type(other) is type(self) and hash(other) == hash(self)

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return f"<{self.name}>"

    @made(slots=True, eq=False)
    class Itself:
        name: str
        parts: tuple[str, ...] = ()
        tags: tuple[str, ...] = ()

    return [Value, Open, Changing, Below, Of, Own, Itself]


def told(kind: type[Any]) -> list[object]:
    """All that can be seen of a class and its values."""
    one, same, other = kind("a", ("b",)), kind(name="a", parts=("b",)), kind("c", tags=["d"])
    seen: list[object] = [repr(one), repr(other), one == same, one == other, one == 1, kind.__match_args__]
    seen += [[it.name for it in fields(kind)], [getattr(one, it.name) for it in fields(kind)]]
    seen += [_outcome(hash, one), _outcome(hash, other)]
    for change in (lambda: setattr(one, "name", "z"), lambda: delattr(same, "parts")):
        seen += [_outcome(change), repr(one)]
    seen += [_outcome(kind), _outcome(kind, "a", nothing=1), _outcome(kind, "a", name="b")]
    seen += [repr(copy.copy(other)), repr(copy.deepcopy(other)), repr(dataclasses.replace(one, name="n"))]
    return seen


def _outcome(act: Callable[..., object], *arguments: object, **named: object) -> str:
    try:
        act(*arguments, **named)
    except (TypeError, ValueError, AttributeError) as error:
        return type(error).__name__
    return "done"


@pytest.mark.parametrize("place", range(7))
def test_a_class_of_ours_does_what_one_of_the_library_does(place: int) -> None:
    theirs, ours = (kinds(made)[place] for made in (dataclasses.dataclass, dataclass))
    assert told(ours) == told(theirs)


@BOTH
def test_values_of_two_classes_are_never_equal_and_a_list_is_each_values_own(made: Decorator) -> None:
    value, _open, changing, below, *_ = kinds(made)
    assert value("a") != below("a")
    assert value("a") != changing("a")
    one, other = value("a"), value("a")
    one.tags.append("x")
    one.kept["k"] = b""
    assert (other.tags, other.kept, one == other) == ([], {}, False)


@BOTH
def test_what_is_checked_after_a_value_is_made_is_checked_each_time(made: Decorator) -> None:
    below = kinds(made)[3]
    assert below("a", more=1).more == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="less than nothing"):
            below("a", more=-1)
    with pytest.raises(ValueError, match="less than nothing"):
        replace(below("a"), more=-1)


def test_a_replaced_value_has_the_rest_of_the_old_one_whosever_class_it_is() -> None:
    for made in (dataclasses.dataclass, dataclass):
        value = kinds(made)[0]
        assert replace(value("a", ("b",), ["c"]), name="n") == value("n", ("b",), ["c"])
        with pytest.raises(TypeError):
            replace(value("a"), nothing=1)


def test_a_frozen_value_cannot_be_changed_before_another_was_made_either() -> None:
    value = kinds(dataclass)[0]("a")
    for name in ("name", "new"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(value, name, "b")
    assert hash(Stored("a")) == hash(Stored("a")) != hash(Stored("b"))


@BOTH
@pytest.mark.parametrize("members", [{}, {"__slots__": ()}])
def test_a_value_of_a_plain_class_below_is_of_that_class_and_frozen(made: Decorator, members: dict[str, Any]) -> None:
    value: Any = type("Lower", (kinds(made)[0],), members)("a", ("b",))
    assert (type(value).__name__, value.name, value.parts, value.tags) == ("Lower", "a", ("b",), [])
    with pytest.raises(FrozenInstanceError):
        value.name = "c"


@dataclass(frozen=True, slots=True)
class Stored:
    name: str
    next: Stored | None = None


def test_what_would_differ_from_the_library_cannot_be_declared() -> None:
    made: Decorator = dataclass
    for given in (field(default=1, kw_only=True), field(default=1, hash=False)):
        with pytest.raises(TypeError, match=r"C\.x: kw_only, hash and InitVar are not made here"):
            made(type("C", (), {"__annotations__": {"x": int}, "x": given}))
    with pytest.raises(TypeError, match=r"C\.x: kw_only"):
        made(type("C", (), {"__annotations__": {"x": dataclasses.InitVar[int]}}))
    for frozen in (True, False):
        for base in (made(frozen=frozen)(type("B", (), {})), dataclasses.dataclass(frozen=frozen)(type("B", (), {}))):
            with pytest.raises(TypeError, match=r"one is frozen and one is not|cannot inherit"):
                made(frozen=not frozen)(type("C", (base,), {}))


def test_values_can_be_pickled() -> None:
    stored = Stored("a", Stored("b"))
    assert pickle.loads(pickle.dumps(stored)) == stored


class Model(BaseModel):
    stored: Stored


def test_pydantic_reads_and_writes_values() -> None:
    model = Model.model_validate({"stored": {"name": "a", "next": {"name": "b"}}})
    assert model.stored == Stored("a", Stored("b"))
    assert model.model_dump() == {"stored": {"name": "a", "next": {"name": "b", "next": None}}}
