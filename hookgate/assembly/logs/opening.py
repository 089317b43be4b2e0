"""Where log lines go: stderr, as text or JSON, from a level on."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TextIO, cast

import orjson
import structlog

from hookgate.assembly.logs.prompt_logs import PromptLogs
from hookgate.channels.printable import printable
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.zot.names import EXTENSION
from hookgate.sections import LogSection


def set_up_logs(
    section: LogSection, stream: TextIO | PromptLogs | None = None, *, tells_extensions: bool = False
) -> None:
    """`stream` instead of stderr. `tells_extensions`: whoever starts says in words of its own which extensions have
    not come up, so the log does not."""
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if tells_extensions:
        shared.append(_without_missing_extensions)
    if isinstance(stream, PromptLogs):
        shared.append(partial(_without_told, stream))
    if section.format == "text":
        shared.append(_harmless)
    json = section.format == "json"
    console = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    read = isinstance(stream, PromptLogs) and stream.on_screen
    last: list[structlog.types.Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(serializer=_json)]
        if json
        else [partial(_worded, console) if read else console]
    )
    structlog.configure(
        processors=[*shared, *last, cast("structlog.types.Processor", _redact)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[section.level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Losing(cast("TextIO", stream or sys.stderr)))),
        cache_logger_on_first_use=True,
    )


class _Losing:
    """A line that cannot be written is lost, and nothing with it: a log may lie on the disk that is full."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def _without_missing_extensions(
    _logger: object, _method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    if event.get("at_start") and str(event.get("hook")).startswith(EXTENSION):
        raise structlog.DropEvent
    return event


def _without_told(
    logs: PromptLogs, _logger: object, _method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """A chat tells in words of its own what was let through; with a prompt, also which hooks have not come up."""
    down = logs.at_prompt and event.get("event") == "hook_down" and event.get("at_start")
    if logs.on_screen and ("let_through" in event or down):
        raise structlog.DropEvent
    return event


def _worded(
    otherwise: structlog.dev.ConsoleRenderer, logger: object, method: str, event: structlog.types.EventDict
) -> str:
    """What becomes of a hook or a command, and what is configured in vain, as a sentence: whoever reads a chat reads
    the log beside it."""
    match event:
        case {
            "event": "hook_failed",
            "hook": hook,
            "stage": stage,
            "reason": reason,
            "policy": policy,
            "times": times,
        }:
            often = f" ({times} failures since the last such line)" if times > 1 else ""
            return f"! {hook} failed at {stage}: {reason}; policy: {policy}{often}"
        case {"event": "hook_down", "hook": hook, "state": state, "reason": reason, "retry_in_s": delay}:
            return f"! {hook} is {state}: {reason}; it is started again in {delay:.1f} s"
        case {"event": "hook_declines_stages", "hook": hook, "reason": reason}:
            return f"! {hook}: {reason}"
        case {"event": "extension_command_refused", "extension": extension, "command": command, "holder": holder}:
            owner = "hookgate's own" if holder == "hookgate" else f"that of {holder}, which comes first"
            return f"! {extension}: /{command} is {owner}, so its own command of that name is not there"
        case {"event": "configured_but_missing", "reason": reason}:
            return f"! {reason}"
        case _:
            return otherwise(logger, method, event)


@contextmanager
def redacted_logs(redactor: Redactor) -> Generator[None]:
    """While a runtime is open no line of the log has its secrets; those of several are all kept out."""
    _redactors.append(redactor)
    try:
        yield
    finally:
        _redactors.remove(redactor)


_redactors: list[Redactor] = []
"""There is one log in a process, whatever runs in it."""


def _redact(_logger: object, _method: str, line: str | bytes) -> str | bytes:
    """The last step, so that tracebacks pass it too."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    for redactor in _redactors:
        text = redactor.text(text)
    return text


def _harmless(_logger: object, _method: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
    """What a hook or model wrote reaches a terminal here too."""
    texts = {name: value for name, value in event.items() if isinstance(value, str)}
    return {**event, **{name: printable(text).replace("\n", "\\n") for name, text in texts.items()}}


def _json(event: object, **_options: object) -> str:
    return orjson.dumps(event, default=repr).decode()
