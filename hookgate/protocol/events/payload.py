"""What every kind of event carries: its names, how grave it is, its JSON. Lists no kind."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import ClassVar, Literal

from hookgate.protocol.dataclasses import dataclass

Severity = Literal["info", "warn", "error"]


@dataclass(frozen=True, slots=True)
class Payload:
    """`kind` is the name on the seed page, `runtime` the newer dotted one, `source` the marker in Meta."""

    kind: ClassVar[str]
    runtime: ClassVar[str]
    source: ClassVar[str] = ""

    @property
    def severity(self) -> Severity:
        return "info"

    # Once for all kinds: each generated method of each class costs a start a little.
    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._values()}"

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in _names(type(self)))

    def wire(self) -> dict[str, object]:
        """The JSON object; members that are None are left out."""
        return {name: value for name in _names(type(self)) if (value := getattr(self, name)) is not None}


@cache
def _names(kind: type[Payload]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
