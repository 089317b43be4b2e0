"""The redactor as a step of a log's pipeline. Knows no logging library: an event is a mapping, or a finished line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from hookgate.redaction.redactor import Redactor

Event = MutableMapping[str, Any] | str | bytes


def redacting_processor(redactor: Redactor) -> Callable[[object, str, Event], Any]:
    """For structlog, anywhere in the chain; as the last step, after the renderer, it sees tracebacks too."""

    def redact(_logger: object, _method: str, event: Event) -> Event:
        match event:
            case str():
                return redactor.text(event)
            case bytes():
                return redactor.text(event.decode("utf-8", "replace")).encode()
            case _:
                return {name: _redacted(redactor, name, value) for name, value in event.items()}

    return redact


def _redacted(redactor: Redactor, name: str, value: object) -> object:
    """What is no JSON is left to the renderer; as text the last step sees it."""
    if isinstance(value, (str, Mapping, list, tuple)):
        return redactor.member(name, cast("Any", value))
    return value
