"""Arguments that do not fit a function's parameters, in a model's words: one line a place, and what would fit.

Imported with the pydantic model that refused them. Knows no function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic_core import ErrorDetails, ValidationError

from hookgate.protocol.values import Fault, JsonObject, ToolResult
from hookgate.tools.failures import HINTS, faulted, meant
from hookgate.tools.schema.places import names_at

MAX_PLACES = 10
_LINE_CHARS = 300
_VALUE_ERROR = "Value error, "

ArgumentPath = tuple[str | int, ...]


def misfit(op: str, error: ValidationError, arguments: JsonObject, schema: JsonObject, signature: str) -> ToolResult:
    """The validation failure; `schema` is the one that names the arguments, `signature` a line that shows them."""
    lines = _lines(error, arguments, schema)
    more = ["... and more"] if len(lines) > MAX_PLACES else []
    reason = "\n".join([*lines[:MAX_PLACES], *more])
    return faulted(Fault("validation", op, reason), f"{signature}\n{HINTS['validation']}")


def _lines(error: ValidationError, arguments: JsonObject, schema: JsonObject) -> list[str]:
    """Of a union every branch complains: of one place they share a line. No more than are shown, and one."""
    found: dict[ArgumentPath, list[str]] = {}
    for problem in error.errors(include_url=False, include_input=False):
        place = _place(problem, arguments)
        found.setdefault(place, []).append(_words(problem, place, schema))
        if len(found) > MAX_PLACES:
            break
    return [_line(place, tuple(dict.fromkeys(words))) for place, words in found.items()]


def _line(place: ArgumentPath, words: tuple[str, ...]) -> str:
    where = ".".join(str(part) for part in place)
    what = ", or ".join(words)
    return (f"{where}: {what}" if where else what)[:_LINE_CHARS]


def _place(problem: ErrorDetails, arguments: JsonObject) -> ArgumentPath:
    """The parts that lead through what was given: pydantic names the branches of a union among them."""
    place: list[str | int] = []
    node: object = arguments
    for part in problem["loc"]:
        inner = _member(node, part)
        if inner is not _NONE:
            node = inner
            place.append(part)
    if problem["type"] == "missing":
        place.append(problem["loc"][-1])
    return tuple(place)


_NONE = object()


def _member(node: object, part: str | int) -> object:
    if isinstance(node, Mapping):
        return cast("Mapping[str | int, object]", node).get(part, _NONE)
    if isinstance(node, list) and isinstance(part, int) and part < len(cast("list[object]", node)):
        return cast("list[object]", node)[part]
    return _NONE


def _words(problem: ErrorDetails, place: ArgumentPath, schema: JsonObject) -> str:
    message = problem["msg"].removeprefix(_VALUE_ERROR)
    match problem["type"]:
        case "extra_forbidden":
            return f"unknown argument{meant(str(place[-1]), names_at(schema, place[:-1]))}"
        case "missing":
            return "field required"
        case _:
            return message[:1].lower() + message[1:]
