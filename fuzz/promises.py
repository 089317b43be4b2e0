"""What both readers promise of any text at all; each check is a sentence when it fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import process_time

from hookgate.protocol.values import Json
from hookgate.tools.extract import Mode, extract_calls, held_from
from hookgate.tools.repair import Decoded, Undecodable, decode_arguments

NAMES = frozenset({"a", "b", "c", "w", "read", "write", "bash", "ls", "grep", "get_weather", "ns.tool"})
MODES: tuple[Mode, ...] = ("tags", "all")
MAX_DEPTH = 64
# Seconds of the processor for a text of 20,000 characters: far above what any takes, far below what a quadratic walk
# would.
TOO_SLOW_S = 2.0


def broken_by(text: str) -> str:
    """The first promise that a text breaks; empty if none."""
    started = process_time()
    try:
        broken = _arguments(text) or _calls(text)
    except Exception as error:  # noqa: BLE001, RUF100 - that nothing else is ever raised is one of the promises
        return f"raised {type(error).__name__}: {error}"
    return broken or ("took too long" if process_time() - started > TOO_SLOW_S else "")


def _arguments(text: str) -> str:
    decoded = _decoded(text)
    if decoded is None:
        return ""
    problems: dict[str, Callable[[Decoded], bool]] = {
        "arguments are no object": lambda it: not isinstance(it.value, dict),
        "arguments do not survive UTF-8": lambda it: not _sound(it.value),
        "arguments nest too deep": lambda it: _depth(it.value) > MAX_DEPTH,
        "the flags contradict the steps": lambda it: (it.truncated, it.guessed) != _flags(it),
        "JSON is not read strictly": lambda it: _strict(text) is not None and it.steps != (),
        "strict is not what JSON says": lambda it: it.steps == () and _strict(text) not in (None, it.value),
        "canonical arguments are not strict": lambda it: decode_arguments(json.dumps(it.value)) != Decoded(it.value),
    }
    return next((said for said, breaks in problems.items() if breaks(decoded)), "")


def _calls(text: str) -> str:
    for mode in MODES:
        found = extract_calls(text, NAMES, mode)
        ids = [call.id for call in found.calls]
        if not {call.name for call in found.calls} <= NAMES:
            return f"{mode}: an undeclared tool is called"
        if len(set(ids)) != len(ids) or "" in ids:
            return f"{mode}: two calls share an id"
        if any(call.origin != "text" or call.decode.truncated or not _sound(call.arguments) for call in found.calls):
            return f"{mode}: a call is cut, unsound or of no origin"
        if found.klass != ("CALLS" if found.calls else "MALFORMED" if found.problems else "NONE"):
            return f"{mode}: the class contradicts what was found"
        if found.klass != "NONE" and held_from(text, mode) >= len(text):
            return f"{mode}: a call was not held back"
    return ""


def _decoded(text: str) -> Decoded | None:
    try:
        return decode_arguments(text)
    except Undecodable:
        return None


def _flags(decoded: Decoded) -> tuple[bool, bool]:
    return decoded.step == "TRUNC", decoded.step == "GUESS"


def _sound(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True


def _strict(text: str) -> object:
    """What the standard library reads, where it can tell; None else."""
    try:
        value = json.loads(text.removeprefix("\ufeff"), parse_constant=float)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _sound(value) else None


def _depth(value: Json) -> int:
    match value:
        case dict():
            return 1 + max(map(_depth, value.values()), default=0)
        case list():
            return 1 + max(map(_depth, value), default=0)
        case _:
            return 0
