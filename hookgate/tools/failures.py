"""What the model reads when a call ends, one text and one Fault for every kind of outcome. Runs no tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

import trio
from pydantic_core import ValidationError

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values import Fault, FaultKind, JsonObject, ToolResult
from hookgate.protocol.values.effects import Effect
from hookgate.tools.errors import ToolError

# Longest message of an unforeseen exception that reaches the model, in characters.
_MESSAGE_CHARS = 500
_OP_CHARS = 64

HINTS: Mapping[FaultKind, str] = MappingProxyType(
    {
        "validation": "Fix the arguments named above to match the tool's schema, then call again.",
        "not_found": "Check the name.",
        "permission": "Do not repeat this call. Use a read-only tool, or ask the user for access.",
        "transient": "Try once more, or check the state first.",
        "budget": "Ask for less, or split the work.",
        "stale": "Read it again and use what you find.",
        "fatal": "Stop trying and say what went wrong.",
        "unknown": "",
    }
)
"""What the model is told of each kind: whether another try makes sense, and how."""

# Of several failures at once the one that comes first here is told: what no retry cures beats what one may.
_WORST_FIRST: tuple[FaultKind, ...] = (
    "fatal",
    "permission",
    "budget",
    "validation",
    "stale",
    "not_found",
    "unknown",
    "transient",
)


def success(text: str | None = None, data: JsonObject | None = None, effects: tuple[Effect, ...] = ()) -> ToolResult:
    """The text as it is; without one the data in JSON, and without either `ok`."""
    if text is None:
        text = "ok" if data is None else encode(data).decode()
    return ToolResult(text, data=data, effects=effects)


def failure(kind: FaultKind, op: str, reason: str, *, hint: str | None = None, denied_by: str = "") -> ToolResult:
    """`ERROR (KIND) OP: REASON`, then the hint on its own line; without `hint` the kind's own is given."""
    return faulted(Fault(kind, op, reason, denied_by), hint)


def faulted(fault: Fault, hint: str | None = None) -> ToolResult:
    """As `failure`. Where the world said when to come back, the model is told."""
    # A model may have made up a name of any length.
    fault = replace(fault, op=fault.op[:_OP_CHARS] or "tool")
    hint = HINTS[fault.kind] if hint is None else hint
    if fault.retry_after_s is not None:
        hint = f"{hint} Wait {fault.retry_after_s:g} s first.".lstrip()
    line = f"ERROR ({fault.kind}) {fault.op}: {fault.reason}"
    return ToolResult(f"{line}\n{hint}" if hint else line, is_error=True, error=fault)


def not_found(name: str, names: Iterable[str]) -> ToolResult:
    """A call of a tool that is not in the effective set, with up to three names that look alike."""
    close, hint = close_names(name, names), HINTS["not_found"]
    hint = f"{hint} Close: {', '.join(close)}." if close else hint
    result = failure("not_found", name, f"there is no tool named {name[:100]!r}", hint=hint)
    # The model reads which names are close; clients and extensions that know zot's words read those.
    return replace(result, error=Fault("not_found", name, f'unknown tool "{name[:100]}"'))


def removed(name: str) -> ToolResult:
    """A call of a tool that was in the effective set and has gone since."""
    return failure("not_found", name, f"{name} was removed during this turn", hint="Go on without it.")


def away(name: str, why: str) -> ToolResult:
    """A call of a tool whose program is not there just now, and is on its way back."""
    return failure(
        "transient", name, f"{why}; its tool {name} will be back", hint="Try again later, or go on without it."
    )


def close_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Up to three, the closest first."""
    # difflib is quadratic in the length, and the name is whatever the model wrote.
    return tuple(get_close_matches(name[:64], list(names), n=3))


def meant(name: str, names: Iterable[str]) -> str:
    """` (did you mean NAME?)` where one of the names is spelled alike, else nothing."""
    plain = {_plain(known): known for known in names}
    close = get_close_matches(_plain(name[:64]), plain, n=1)
    return f" (did you mean {plain[close[0]]}?)" if close else ""


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def failed(op: str, error: BaseException) -> ToolResult:
    """The result for what a tool raised; of a group, the worst."""
    return faulted(_fault(op, error))


def _fault(op: str, error: BaseException) -> Fault:
    match error:
        case ToolError():
            return replace(error.fault, op=error.op or op)
        case ExceptionGroup():
            return min((_fault(op, inner) for inner in error.exceptions), key=lambda it: _WORST_FIRST.index(it.kind))
        case ValidationError():
            return Fault("validation", op, _places(error))
        case FileNotFoundError():
            return Fault("not_found", op, _os_reason(error))
        case PermissionError():
            return Fault("permission", op, _os_reason(error), "os")
        case trio.TooSlowError():
            return Fault("transient", op, "a step of it timed out", timed_out=True)
        case OSError():
            return Fault("transient", op, _os_reason(error))
        case _:
            return Fault("fatal", op, f"{type(error).__name__}: {_message(error)}"[:_MESSAGE_CHARS])


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # whatever an error class does when it is printed, the call has a result
        return "an error that cannot be printed"


def _places(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}"
        for found in error.errors(include_url=False, include_input=False)
    )[:_MESSAGE_CHARS]


def _os_reason(error: OSError) -> str:
    reason = error.strerror or _message(error) or type(error).__name__
    return f"{error.filename}: {reason}" if isinstance(error.filename, str) else reason
