"""Whether a JSON value is a tool call, and which. Knows the shapes of calls, not where a value stood.

An explicit opener announces a call, so whatever is wrong after it is a problem. A bare value is a call only if it
looks like one all through.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from hookgate.protocol.values import Decode, Json, JsonObject
from hookgate.tools.extract.values import FoundCall, Problem, Verdict
from hookgate.tools.failures import close_names
from hookgate.tools.repair import Reading, Undecodable, decode_arguments

CUT = Problem("the call was cut; send it again whole, and split large content")


def protocol_calls(value: Json) -> list[Json] | None:
    """The elements of `{"tool_calls": [...]}`; None for anything else."""
    calls = value.get("tool_calls") if isinstance(value, dict) else None
    return cast("list[Json]", calls) if isinstance(calls, list) else None


def judge_explicit(reading: Reading, names: Collection[str]) -> Verdict:
    """One judgement an element: arguments may be absent, everything else must be right."""
    elements = _elements(reading.value)
    if not elements:
        return (Problem("there is no call in it"),)
    return tuple(_judged(element, reading.steps, names) for element in elements)


def judge_bare(reading: Reading, names: Collection[str]) -> Verdict:
    """Nothing where the value is no call; a cut one is a problem if all that came looks like a call."""
    elements = _elements(reading.value)
    if not elements or not all(_looks_like_a_call(element, names) for element in elements):
        return ()
    if "TRUNC" in reading.steps:
        return (CUT,)
    return tuple(_judged(element, reading.steps, names, bare=True) for element in elements)


def judge_arguments(name: str, value: Json, steps: tuple[str, ...], call_id: str = "") -> FoundCall | Problem:
    """Arguments that are an object, or a string that holds one."""
    if isinstance(value, str):
        return _from_text(name, value, steps, call_id)
    if not isinstance(value, dict):
        return Problem("the arguments must be a JSON object", name)
    return FoundCall(call_id, name, cast("JsonObject", value), Decode(steps))


def undeclared(name: str, names: Collection[str]) -> Problem:
    close = close_names(name, names)
    hint = f"; close: {', '.join(close)}" if close else ""
    return Problem(f"there is no tool named {name[:100]!r}{hint}", name[:100])


def _elements(value: Json) -> list[Json]:
    calls = protocol_calls(value)
    if calls is not None:
        return calls
    return cast("list[Json]", value) if isinstance(value, list) else [value]


def _judged(
    element: Json, steps: tuple[str, ...], names: Collection[str], *, bare: bool = False
) -> FoundCall | Problem:
    if not isinstance(element, dict):
        return Problem("a call must be a JSON object with a name")
    call = _function(cast("JsonObject", element))
    name, call_id = call.get("name"), cast("JsonObject", element).get("id")
    if not isinstance(name, str) or not name.strip():
        return Problem("the call has no name")
    if name not in names:
        return undeclared(name, names)
    given: Json = call["arguments"] if "arguments" in call else call.get("parameters")
    empty: JsonObject = {}
    return judge_arguments(
        name, empty if given is None and not bare else given, steps, call_id if isinstance(call_id, str) else ""
    )


def _from_text(name: str, text: str, steps: tuple[str, ...], call_id: str) -> FoundCall | Problem:
    try:
        # A guess may take long, and what is found in a text is doubtful enough.
        decoded = decode_arguments(text, guess=False)
    except Undecodable as error:
        return Problem(error.reason, name)
    if decoded.truncated:
        return Problem(CUT.reason, name)
    return FoundCall(call_id, name, decoded.value, Decode((*steps, *decoded.steps)))


def _looks_like_a_call(element: Json, names: Collection[str]) -> bool:
    if not isinstance(element, dict):
        return False
    call = _function(cast("JsonObject", element))
    name = call.get("name")
    return isinstance(name, str) and name in names and ("arguments" in call or "parameters" in call)


def _function(element: JsonObject) -> JsonObject:
    function = element.get("function")
    return cast("JsonObject", function) if isinstance(function, dict) else element
