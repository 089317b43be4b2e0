"""Where log lines go: stderr, as text or JSON, from a level on."""

from __future__ import annotations

import logging
import sys

import orjson
import structlog

from hookgate.channels.printable import printable
from hookgate.sections import LogSection


def set_up_logs(section: LogSection) -> None:
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if section.format == "text":
        shared.append(_harmless)
    json = section.format == "json"
    last: list[structlog.types.Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(serializer=_json)]
        if json
        else [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)]
    )
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[section.level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _harmless(_logger: object, _method: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
    """What a hook or model wrote reaches a terminal here too."""
    return {name: _one_line(value) if isinstance(value, str) else value for name, value in event.items()}


def _one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n")


def _json(event: object, **_options: object) -> str:
    return orjson.dumps(event, default=repr).decode()
