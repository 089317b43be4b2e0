"""The patterns of strangers' schemas, held against texts within a budget. Knows no schema round them.

The engine without backtracking takes time linear in the text and in the compiled pattern, so both are bounded. What
it cannot do (look around, refer back) goes to one that backtracks, with a limit on that and on shorter texts; for the
names of members there is the first alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.errors import BadSpec

BUDGET_CHARS = 64 * 1024
"""Characters of one call's arguments that patterns are held against, each as often as a pattern looks at it."""
MAX_PATTERNS = 200
MAX_BACKTRACKED_CHARS = 4 * 1024
_SIZE_BYTES = 256 * 1024
_BACKTRACKS = 10_000
MAX_LARGE_PATTERNS = 8
_LARGE_BYTES = 2 * 1024 * 1024
_LARGE_COST = 16
"""A large pattern, such as `^.{1,1000}$`, may take that much longer for a character: 4 KiB of text at most."""
_EACH_CHARS = 16
"""What asking costs, beside the text."""
_SHOWN_CHARS = 200
_CLASSES = re.compile(r"\\[pP](?:\{[^{}]*\}|\w)")


@dataclass(frozen=True)
class Engine:
    """What holds one pattern against texts, and what a character of them costs."""

    validator: Any
    cost: int = 1
    backtracks: bool = False


class Meter:
    """The patterns of one schema, and what is left of the budget for them.

    Beyond it nothing is judged, and `exceeded` says so: whoever chooses the text must not switch a pattern off.
    """

    def __init__(self) -> None:
        self.exceeded = False
        self._left = BUDGET_CHARS
        self._engines: dict[str, Engine | None] = {}

    def fill(self) -> None:
        self._left, self.exceeded = BUDGET_CHARS, False

    def engine(self, pattern: str) -> Engine | None:
        """None for what `check` refuses: too many, too large, or no pattern at all."""
        if pattern not in self._engines:
            large = sum(engine is not None and engine.cost > 1 for engine in self._engines.values())
            few = len(self._engines) < MAX_PATTERNS
            self._engines[pattern] = _engine(pattern, large < MAX_LARGE_PATTERNS) if few else None
        return self._engines[pattern]

    def judges(self, engine: Engine | None, text: str) -> bool:
        """Whether the engine comes to an end with this text, within what is left."""
        self._left -= (len(text) + _EACH_CHARS) * (engine.cost if engine else 1)
        if engine is None or self._left < 0:
            self.exceeded = True
        elif engine.backtracks:
            self.exceeded |= len(text) > MAX_BACKTRACKED_CHARS or not _ends(engine.validator, text)
        return not self.exceeded

    def check(self) -> None:
        """Raises BadSpec for too many patterns, and for one that no engine can read."""
        if len(self._engines) > MAX_PATTERNS:
            raise BadSpec(f"the schema has more than {MAX_PATTERNS} patterns")
        for pattern, engine in self._engines.items():
            if engine is None:
                _refuse(pattern)


def pattern_keyword(meter: Meter) -> type[Any]:
    """The keyword `pattern` for one compiled schema."""

    class Pattern:
        def __init__(self, _parent: object, pattern: str, _path: object) -> None:
            self._pattern = pattern
            self._engine = meter.engine(pattern)

        def validate(self, instance: object) -> None:
            """Raises ValueError where the text does not match."""
            if not isinstance(instance, str) or not meter.judges(self._engine, instance):
                return
            if self._engine is None or self._engine.validator.is_valid(instance):
                return
            shown = instance if len(instance) <= _SHOWN_CHARS else f"{instance[:_SHOWN_CHARS]}..."
            raise ValueError(f'"{shown}" does not match "{self._pattern}"')

    return Pattern


def _ends(validator: Any, text: str) -> bool:  # noqa: ANN401
    """Whether an engine that backtracks says something of the text, rather than that it gives up."""
    from jsonschema_rs import ValidationErrorKind

    if validator.is_valid(text):
        return True
    first = next(iter(validator.iter_errors(text)))
    return isinstance(first.kind, ValidationErrorKind.Pattern)


def _refuse(pattern: str) -> None:
    shown = pattern[:_SHOWN_CHARS]
    try:
        re.compile(_CLASSES.sub("a", pattern))
    except (re.error, RecursionError, OverflowError):
        raise BadSpec(f"the schema does not compile: {shown!r} is no regular expression") from None
    raise BadSpec(f"the schema does not compile: the pattern {shown!r} is too large, or one of too many large ones")


def _engine(pattern: str, may_be_large: bool) -> Engine | None:
    from jsonschema_rs import FancyRegexOptions, RegexOptions

    if validator := _linear(pattern):
        return Engine(validator)
    if may_be_large and (validator := _validator(pattern, RegexOptions(size_limit=_LARGE_BYTES))):
        return Engine(validator, cost=_LARGE_COST)
    validator = _validator(pattern, FancyRegexOptions(backtrack_limit=_BACKTRACKS, size_limit=_SIZE_BYTES))
    return Engine(validator, backtracks=True) if validator else None


@lru_cache(maxsize=512)
def _linear(pattern: str) -> Any:  # noqa: ANN401 - a validator, imported where it is needed
    return _validator(pattern, name_options())


def name_options() -> Any:  # noqa: ANN401
    """How the compiler itself reads the patterns for names of members."""
    from jsonschema_rs import RegexOptions

    return RegexOptions(size_limit=_SIZE_BYTES)


def _validator(pattern: str, options: Any) -> Any:  # noqa: ANN401
    from jsonschema_rs import Draft202012Validator, ValidationError

    try:
        return Draft202012Validator({"pattern": pattern}, offline=True, pattern_options=options)
    except ValidationError:
        return None
