"""The last resort: what the optional json-repair package makes of a text. Without the package, nothing."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any, cast

from hookgate.protocol.codec import decode
from hookgate.tools.repair.bounds import too_deep
from hookgate.tools.repair.values import Reading

MAX_CHARS = 2 * 1024
"""json-repair's time grows with the square of a hostile text: a third of a second for one of this length."""


def read_guess(text: str) -> Reading | None:
    """A non-empty object, or None. Takes up to a third of a second of the thread it is called in."""
    if len(text) > MAX_CHARS or "{" not in text:
        return None
    value = _repaired(text)
    if not isinstance(value, dict) or not value:
        return None
    return _as_json(cast("dict[str, Any]", value))


def _repaired(text: str) -> object:
    try:
        module = import_module("json_repair")
    except ImportError:
        return None
    try:
        return cast("object", module.loads(text, skip_json_loads=True, strict=True))
    except Exception:  # noqa: BLE001, RUF100 - a heuristic parser fails in any way it likes; then there is no guess
        return None


def _as_json(value: dict[str, Any]) -> Reading | None:
    """Through the strict parser, for its bounds: the package lets NaN and lone surrogates through."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return None
    return Reading(decode(text), ("GUESS",)) if not too_deep(text) else None
