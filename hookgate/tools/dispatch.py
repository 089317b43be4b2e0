"""Executes one call of one tool and turns every outcome into a ToolResult. Asks no hook and no person."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import structlog
import trio

from hookgate.protocol.answers import NO_OUTPUT
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools.errors import BadSpec, ToolError
from hookgate.tools.failures import failed, failure, not_found
from hookgate.tools.schema import problems
from hookgate.tools.text import clean, cut, nearly_within_limits

__all__ = ["execute", "failure", "invalid", "not_found", "rendered"]

_log = structlog.get_logger(__name__)


async def execute(tool: Tool, call: ToolCall) -> ToolResult:
    """Validate, run within `spec.timeout_s`, render. Raises nothing but Cancelled."""
    refusal = invalid(tool.spec, call)
    if refusal is not None:
        return rendered(refusal)
    try:
        result = await _within_deadline(tool, call)
    except Exception as error:
        _record(call, error)
        return rendered(failed(call.name, error))
    return rendered(result)


def invalid(spec: ToolSpec, call: ToolCall) -> ToolResult | None:
    """The refusal of arguments that do not fit the schema; None if they fit."""
    try:
        found = problems(spec.parameters, call.arguments)
    except BadSpec as error:
        return failure("fatal", call.name, str(error))
    if not found:
        return None
    # The built-ins' own words for a missing argument stand alone; everything else is introduced.
    missing = all(problem.endswith(" is required") for problem in found)
    reason = "; ".join(found)
    return failure("validation", call.name, reason if missing else f"invalid args: {reason}")


async def _within_deadline(tool: Tool, call: ToolCall) -> ToolResult:
    with trio.move_on_after(tool.spec.timeout_s):
        return await _unmixed(tool, call)
    return failure("transient", call.name, f"timed out after {tool.spec.timeout_s:g} s")


async def _unmixed(tool: Tool, call: ToolCall) -> ToolResult:
    """A tool's nursery may fail and be cancelled at once; then only the cancellation leaves, the rest is logged."""
    try:
        return await tool.execute(call)
    except BaseExceptionGroup as group:
        ending, errors = group.split((trio.Cancelled, KeyboardInterrupt, SystemExit))
        if ending is None:
            raise
        if errors is not None:
            _log.warning("tool_failed_while_cancelled", tool=call.name, exc_info=errors)
        raise ending from None


def rendered(result: ToolResult) -> ToolResult:
    """The result as a model may get it: a text that is never empty, within the size limits, valid UTF-8.

    Rendering twice changes nothing more: the loop does it again after the hooks.
    """
    if not isinstance(cast("object", result), ToolResult):
        return failure("fatal", "tool", f"returned {type(result).__name__}, not a result")
    text = clean(result.for_llm)
    if not text.strip():
        return replace(result, for_llm=NO_OUTPUT)
    if not nearly_within_limits(text):
        text = cut(text)
    return result if text == result.for_llm else replace(result, for_llm=text)


def _record(call: ToolCall, error: Exception) -> None:
    """Failures that a tool foresaw are the model's business alone; the rest has a traceback somewhere."""
    if not isinstance(error, ToolError | OSError):
        _log.error("tool_crashed", tool=call.name, call_id=call.id, exc_info=error)
