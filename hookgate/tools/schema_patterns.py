"""The patterns of strangers' schemas, held against texts within a budget. Knows no schema round them.

The engine without backtracking takes time linear in the text and in the compiled pattern, so both are bounded. What
it cannot do (look around, refer back) goes to one that backtracks, with a limit on that and on shorter texts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hookgate.tools.errors import BadSpec

if TYPE_CHECKING:
    from jsonschema_rs import FancyRegexOptions

BUDGET_CHARS = 64 * 1024
"""Characters of one call's arguments that patterns are held against, each as often as a pattern looks at it."""
MAX_PATTERNS = 200
MAX_BACKTRACKED_CHARS = 4 * 1024
_SIZE_BYTES = 256 * 1024
_BACKTRACKS = 10_000
_EACH_CHARS = 16
"""What asking costs, beside the text."""
_SHOWN_CHARS = 200
_CLASSES = re.compile(r"\\[pP](?:\{[^{}]*\}|\w)")


class Meter:
    """The patterns of one schema, and what is left of the budget for them.

    Beyond it a pattern counts as matched: the tool sees its arguments anyway.
    """

    def __init__(self) -> None:
        self.patterns: set[str] = set()
        self._left = BUDGET_CHARS

    def fill(self) -> None:
        self._left = BUDGET_CHARS

    def takes(self, text: str) -> bool:
        self._left -= len(text) + _EACH_CHARS
        return self._left >= 0

    def check(self) -> None:
        """Raises BadSpec for too many patterns, and for one that no engine can read."""
        if len(self.patterns) > MAX_PATTERNS:
            raise BadSpec(f"the schema has more than {MAX_PATTERNS} patterns")
        for pattern in self.patterns:
            _check(pattern)


def pattern_keyword(meter: Meter) -> type[Any]:
    """The keyword `pattern` for one compiled schema."""

    class Pattern:
        def __init__(self, _parent: object, pattern: str, _path: object) -> None:
            self._pattern, self._longest = pattern, BUDGET_CHARS
            meter.patterns.add(pattern)
            few = len(meter.patterns) <= MAX_PATTERNS
            self._validator: Any = _linear(pattern) if few else None
            if few and self._validator is None:
                self._validator, self._longest = _backtracking(pattern), MAX_BACKTRACKED_CHARS

        def validate(self, instance: object) -> None:
            """Raises ValueError where the text does not match."""
            if not isinstance(instance, str) or self._validator is None:
                return
            if len(instance) > self._longest or not meter.takes(instance) or self._matches(instance):
                return
            shown = instance if len(instance) <= _SHOWN_CHARS else f"{instance[:_SHOWN_CHARS]}..."
            raise ValueError(f'"{shown}" does not match "{self._pattern}"')

        def _matches(self, text: str) -> bool:
            from jsonschema_rs import ValidationErrorKind

            if self._validator.is_valid(text):
                return True
            first = next(iter(self._validator.iter_errors(text))) if self._longest < BUDGET_CHARS else None
            return first is not None and not isinstance(first.kind, ValidationErrorKind.Pattern)

    return Pattern


def _check(pattern: str) -> None:
    """One that is merely too large is taken, and never held against a text."""
    if _linear(pattern) is None and _backtracking(pattern) is None:
        try:
            re.compile(_CLASSES.sub("a", pattern))
        except (re.error, RecursionError, OverflowError):
            shown = pattern[:_SHOWN_CHARS]
            raise BadSpec(f"the schema does not compile: {shown!r} is no regular expression") from None


@lru_cache(maxsize=512)
def _linear(pattern: str) -> Any:  # noqa: ANN401 - a validator, imported where it is needed
    from jsonschema_rs import RegexOptions

    return _validator(pattern, RegexOptions(size_limit=_SIZE_BYTES))


def _backtracking(pattern: str) -> Any:  # noqa: ANN401
    return _validator(pattern, pattern_options())


def pattern_options() -> FancyRegexOptions:
    """For an engine that takes every pattern, within limits."""
    from jsonschema_rs import FancyRegexOptions

    return FancyRegexOptions(backtrack_limit=_BACKTRACKS, size_limit=_SIZE_BYTES)


def _validator(pattern: str, options: Any) -> Any:  # noqa: ANN401
    from jsonschema_rs import Draft202012Validator, ValidationError

    try:
        return Draft202012Validator({"pattern": pattern}, offline=True, pattern_options=options)
    except ValidationError:
        return None
