"""What the model reads when a call fails: one text and one Fault for every kind of outcome. Runs no tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

import trio
from pydantic import ValidationError

from hookgate.protocol.values import Fault, FaultKind, ToolResult
from hookgate.tools.errors import ToolError

# Longest message of an unforeseen exception that reaches the model, in characters.
_MESSAGE_CHARS = 500
_OP_CHARS = 64

HINTS: Mapping[FaultKind, str] = {
    "validation": "Fix the arguments named above to match the tool's schema, then call again.",
    "not_found": "Check the name.",
    "permission": "Do not repeat this call. Use a read-only tool, or ask the user for access.",
    "transient": "Try once more, or check the state first.",
    "budget": "Ask for less, or split the work.",
    "stale": "Read it again and use what you find.",
    "fatal": "Stop trying and say what went wrong.",
    "unknown": "",
}

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


def failure(kind: FaultKind, op: str, reason: str, *, hint: str | None = None, denied_by: str = "") -> ToolResult:
    """`ERROR (KIND) OP: REASON`, then the hint on its own line; without `hint` the kind's own is given."""
    hint = HINTS[kind] if hint is None else hint
    # A model may have made up a name of any length.
    op = op[:_OP_CHARS] or "tool"
    line = f"ERROR ({kind}) {op}: {reason}"
    text = f"{line}\n{hint}" if hint else line
    return ToolResult(text, is_error=True, error=Fault(kind, op, reason, denied_by))


def not_found(name: str, names: Iterable[str]) -> ToolResult:
    """A call of a tool that is not in the effective set, with up to three names that look alike."""
    close = close_names(name, names)
    hint = f"{HINTS['not_found']} Close: {', '.join(close)}." if close else HINTS["not_found"]
    return failure("not_found", name, f"there is no tool named {name[:100]!r}", hint=hint)


def close_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Up to three, the closest first."""
    # difflib is quadratic in the length, and the name is whatever the model wrote.
    return tuple(get_close_matches(name[:64], list(names), n=3))


def failed(op: str, error: Exception) -> ToolResult:
    """The result for what a tool raised; of a group, the worst."""
    fault = _fault(op, error)
    return failure(fault.kind, fault.op, fault.reason, denied_by=fault.denied_by)


def _fault(op: str, error: Exception) -> Fault:
    match error:
        case ToolError():
            return Fault(error.kind, error.op or op, error.reason, error.denied_by)
        case ExceptionGroup():
            return min((_fault(op, inner) for inner in error.exceptions), key=lambda it: _WORST_FIRST.index(it.kind))
        case ValidationError():
            return Fault("validation", op, _places(error))
        case FileNotFoundError():
            return Fault("not_found", op, _os_reason(error))
        case PermissionError():
            return Fault("permission", op, _os_reason(error), "os")
        case trio.TooSlowError():
            return Fault("transient", op, "a step of it timed out")
        case OSError():
            return Fault("transient", op, _os_reason(error))
        case _:
            return Fault("fatal", op, f"{type(error).__name__}: {error}"[:_MESSAGE_CHARS])


def _places(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}"
        for found in error.errors(include_url=False, include_input=False)
    )


def _os_reason(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if isinstance(error.filename, str) else reason
