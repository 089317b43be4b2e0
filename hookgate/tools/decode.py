"""Arguments as the model wrote them, to a ToolCall; what cannot be read is a result. Knows no tool's schema."""

from __future__ import annotations

import math
import re
from typing import cast

from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import Json, JsonObject, ProposedCall, ToolCall, ToolResult
from hookgate.tools.failures import failure

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 64

_FIX = "Send the arguments again as one JSON object that fits the tool's schema."

# A whole string (or one that never closes), or one bracket; possessive, so that a long string costs one pass.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
# Only a number this large can be read as infinite; cheap to look for, dear to walk the whole value for.
_HUGE = re.compile(r"[0-9][eE]\+?[0-9]{3}|[0-9]{309}")


def decode_call(proposed: ProposedCall) -> ToolCall | ToolResult:
    """The call with its arguments decoded, or the validation failure that the model is told instead."""
    text = proposed.arguments.removeprefix("\ufeff").strip()
    if text in ("", "null"):
        return ToolCall(proposed.id, proposed.name, {})
    reason = _out_of_bounds(text)
    if reason:
        return _refused(proposed, reason)
    try:
        value = cast("Json", decode(text))
    except BadMessage as error:
        return _refused(proposed, f"the arguments are not JSON: {error}")
    if not isinstance(value, dict):
        return _refused(proposed, f"the arguments must be a JSON object, not {_kind(value)}")
    if _HUGE.search(text) and _has_infinity(value):
        return _refused(proposed, "the arguments hold a number that is too large")
    return ToolCall(proposed.id, proposed.name, cast("JsonObject", value))


def _refused(proposed: ProposedCall, reason: str) -> ToolResult:
    return failure("validation", proposed.name, reason, hint=_FIX)


def _out_of_bounds(text: str) -> str:
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_BYTES:
        return f"the arguments have {size} bytes, more than {MAX_BYTES}"
    if _too_deep(text):
        return f"the arguments nest deeper than {MAX_DEPTH}"
    return ""


def _too_deep(text: str) -> bool:
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth > MAX_DEPTH:
            return True
    return False


def _has_infinity(value: Json) -> bool:
    """Recursion is bounded by the depth that was checked before."""
    match value:
        case dict():
            return any(_has_infinity(item) for item in value.values())
        case list():
            return any(_has_infinity(item) for item in value)
        case float():
            return math.isinf(value)
        case _:
            return False


def _kind(value: Json) -> str:
    match value:
        case list():
            return "an array"
        case str():
            return "a string"
        case bool():
            return "a boolean"
        case _:
            return "a number"
