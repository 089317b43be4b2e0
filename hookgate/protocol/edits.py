"""What a call of `edit` replaces, as its arguments say it."""

from __future__ import annotations

from collections.abc import Mapping

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json


@dataclass(frozen=True, slots=True)
class Replacement:
    old: str
    new: str


def replacements(arguments: Mapping[str, Json]) -> tuple[Replacement, ...]:
    """All of them, in order; empty where any is of another shape: nobody shows a part of a change as the whole."""
    found: list[Replacement] = []
    listed = arguments.get("edits")
    for edit in listed if isinstance(listed, list | tuple) else ():
        match edit:
            case {"oldText": str(old), "newText": str(new)}:
                found.append(Replacement(old, new))
            case _:
                return ()
    return tuple(found)
