"""Where the references of a schema lead inside that very schema; every other reference is refused. Pure.

The compiler would follow more of them. What is not followed here could not be weighed, so it must not be compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.errors import BadSpec

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")
# Whether an encoded slash or tilde separates names, readers disagree.
_POINTER = re.compile(r"(?:/(?:[^~/%]|~[01]|%(?!2[fF]|7[eE])[0-9a-fA-F]{2})*)*")
_INDEX = re.compile(r"0|[1-9][0-9]{0,5}")
_SHOWN_CHARS = 100

# Keywords whose subschemas judge the very value that the schema itself judges.
_SAME_PLACE = ("not", "if", "then", "else")
_SAME_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_SAME_PLACE_NAMED = ("dependentSchemas", "dependencies")


@dataclass(frozen=True)
class References:
    """A schema, and its subschemas by anchor."""

    root: Mapping[str, Any]
    anchors: Mapping[str, Mapping[str, Any]]

    def same_place(self, members: Mapping[str, Any]) -> Iterator[object]:
        """The subschemas that judge the very value that this one judges, references followed."""
        for name in _REFERENCES:
            if isinstance(members.get(name), str):
                yield self.target(members[name])
        for name in _SAME_PLACE:
            yield members.get(name)
        for name in _SAME_PLACE_LISTS:
            yield from members.get(name, ()) if isinstance(members.get(name), list) else ()
        for name in _SAME_PLACE_NAMED:
            named = members.get(name)
            yield from cast("dict[str, object]", named).values() if isinstance(named, dict) else ()

    def target(self, ref: str) -> object:
        """The subschema that a reference names. Raises BadSpec where it names none."""
        fragment = ref.removeprefix("#")
        local = ref.startswith("#")
        node = _pointed(fragment, self.root) if _POINTER.fullmatch(fragment) else self.anchors.get(fragment)
        if not local or not isinstance(node, (dict, bool)):
            raise BadSpec(f"the schema does not compile: {ref[:_SHOWN_CHARS]!r} is no place in it")
        return cast("object", node)


def references(root: Mapping[str, Any]) -> References:
    """Raises BadSpec for a reference that leads out of the schema, or that may lead to more than one place."""
    found, anchors = tuple(schemas(root)), dict[str, Mapping[str, Any]]()
    for node in found:
        for name in {node[key] for key in _ANCHORS if isinstance(node.get(key), str)}:
            if name in anchors:
                raise BadSpec(f"the schema has two anchors {name[:_SHOWN_CHARS]!r}")
            anchors[name] = node
    made = References(root, anchors)
    refs = [node[key] for node in found for key in _REFERENCES if isinstance(node.get(key), str)]
    for ref in refs:
        made.target(ref)
    if refs:
        _check_bases(root, found)
    return made


def without_base(root: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without an address of its own: another's may be well known to the compiler."""
    return {key: value for key, value in root.items() if key not in _bases(root)}


def schemas(root: object) -> Iterator[Mapping[str, Any]]:
    """Every object in the schema, whether or not it is a schema: none that is one is missed."""
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield cast("dict[str, Any]", node)
            waiting.extend(cast("dict[str, Any]", node).values())
        elif isinstance(node, list):
            waiting.extend(cast("list[Any]", node))


def _check_bases(root: Mapping[str, Any], found: tuple[Mapping[str, Any], ...]) -> None:
    changing = (*_bases(root), "$schema")
    for node in found:
        for key in changing:
            if node is not root and isinstance(node.get(key), str):
                raise BadSpec(f"the schema has references, and {key!r} below its root would change where they lead")


def _bases(root: Mapping[str, Any]) -> tuple[str, ...]:
    return ("$id", "id") if "draft-04" in str(root.get("$schema")) else ("$id",)


def _pointed(pointer: str, root: Mapping[str, Any]) -> object:
    node: Any = root
    for part in unquote(pointer, errors="replace").split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        match node:
            case dict():
                node = cast("dict[str, Any]", node).get(key)
            case list() if _INDEX.fullmatch(key) and int(key) < len(cast("list[Any]", node)):
                node = cast("list[Any]", node)[int(key)]
            case _:
                return None
    return node
