"""Settles a call's arguments, executes it, and turns every outcome into a ToolResult. Asks no hook and no person."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Protocol, cast

import structlog
import trio

from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.hook.answers import NO_OUTPUT
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import Fault, Json, ToolCall, ToolResult, ToolSpec
from hookgate.tools.arguments import NO_RULES, ArgumentRules
from hookgate.tools.errors import BadSpec, ToolError
from hookgate.tools.failures import failed, failure, faulted, not_found
from hookgate.tools.schema.check import problems
from hookgate.tools.text import clean, cut, nearly_within_limits

__all__ = [
    "Decoding",
    "Paced",
    "execute",
    "failure",
    "invalid",
    "not_found",
    "rendered",
    "run",
    "settled_arguments",
    "sound",
]

_log = structlog.get_logger(__name__)
_AT_ONCE = nullcontext()


class Decoding(Protocol):
    """What a Tool may offer besides: reading arguments more kindly than its schema does."""

    def decode(self, call: ToolCall) -> ToolCall | ToolResult:
        """The call with canonical arguments, defaults filled in, or the refusal that the model is told. Decoding what
        was decoded changes nothing. Runs nothing of the tool, never waits, never raises."""
        ...


class Paced(Protocol):
    """What a Tool may say of how it runs. `in_thread`: its work is one thread's, which goes on when the deadline
    passes. `never_waits`: it awaits nothing, so that no deadline could reach it, and it is given none."""

    @property
    def in_thread(self) -> bool: ...
    @property
    def never_waits(self) -> bool: ...


def settled_arguments(
    tool: Tool | ToolSpec, call: ToolCall, rules: ArgumentRules = NO_RULES
) -> ToolCall | ToolResult:
    """The call as hooks judge it, people approve it and the tool runs it, or the refusal that the model is told.

    Of a tool that a hook owns there is only the spec. The same call comes back where nothing about it changes, so
    settling twice does no harm.
    """
    call = rules.applied(call)
    # Asking a protocol by isinstance costs as much as the check that follows.
    kindly: Callable[[ToolCall], ToolCall | ToolResult] | None = getattr(tool, "decode", None)
    if kindly is not None:
        return kindly(call)
    return invalid(tool if isinstance(tool, ToolSpec) else tool.spec, call) or call


async def execute(tool: Tool, call: ToolCall) -> ToolResult:
    """Settle the arguments, run within `spec.timeout_s`, render. Raises nothing but Cancelled."""
    settled = settled_arguments(tool, call)
    return rendered(sound(settled) if isinstance(settled, ToolResult) else await run(tool, settled))


async def run(tool: Tool, call: ToolCall) -> ToolResult:
    """Execute a call whose arguments are settled. The result is whole: who shows it to a model renders it.

    Raises nothing but Cancelled.
    """
    try:
        with (
            _AT_ONCE
            if getattr(tool, "never_waits", False)
            else trio.CancelScope(relative_deadline=tool.spec.timeout_s)
        ):
            try:
                return sound(await tool.execute(call))
            except BaseExceptionGroup as group:
                raise _unmixed(call, group) from None
    except (trio.Cancelled, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        if _ends_the_task(error):
            raise
        # Failures that a tool foresaw are the model's business alone; the rest has a traceback somewhere.
        if not isinstance(error, ToolError | OSError):
            _log.error("tool_crashed", tool=call.name, call_id=call.id, exc_info=error)
        return sound(failed(call.name, error))
    reason = f"timed out after {tool.spec.timeout_s:g} s"
    late = faulted(Fault("transient", call.name, reason, timed_out=True))
    return replace(late, abandoned=getattr(tool, "in_thread", False))


def _ends_the_task(error: BaseException) -> bool:
    """A group with a cancellation of ours in it, or somebody's Ctrl-C; all else ends that call alone."""
    if not isinstance(error, BaseExceptionGroup):
        return False
    group = cast("BaseExceptionGroup[BaseException]", error)
    return group.subgroup((trio.Cancelled, KeyboardInterrupt)) is not None


def _unmixed(call: ToolCall, group: BaseExceptionGroup[BaseException]) -> BaseExceptionGroup[BaseException]:
    """A tool's nursery may fail and be cancelled at once; then only the cancellation leaves, the rest is logged."""
    ending, errors = group.split((trio.Cancelled, KeyboardInterrupt, SystemExit))
    if ending is None or errors is None:
        return group
    _log.warning("tool_failed_while_cancelled", tool=call.name, exc_info=errors)
    return ending


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


def rendered(result: ToolResult) -> ToolResult:
    """A sound result as a model may get it: a text that is never empty, within the size limits.

    Rendering twice changes nothing more: the loop does it again after the hooks.
    """
    text = result.for_llm
    if not text.strip():
        return replace(result, for_llm=NO_OUTPUT)
    return result if nearly_within_limits(text) else replace(result, for_llm=cut(text))


def sound(result: ToolResult) -> ToolResult:
    """The same result as something that can be sent anywhere: no half characters, and data only if it is JSON."""
    if type(result) is not ToolResult:
        return failure("fatal", "tool", f"returned {type(result).__name__}, not a result")
    if result.data is None and result.error is None and result.for_llm.isascii() and result.for_user.isascii():
        return result
    for_llm, for_user, error = clean(result.for_llm), clean(result.for_user), result.error
    if error is not None and not (error.reason.isascii() and error.op.isascii()):
        error = replace(error, op=clean(error.op), reason=clean(error.reason))
    data = result.data if result.data is None else _json(result.data)
    if (for_llm, for_user, error, data) == (result.for_llm, result.for_user, result.error, result.data):
        return result
    return replace(result, for_llm=for_llm, for_user=for_user, error=error, data=data)


def _json(value: Json) -> Json:
    """The same value if it is JSON; with U+FFFD for half characters; None for what is none."""
    try:
        text = encode(value)
        # Only what is odd about a value is written with an escape of this kind.
        return decode(text) if b"\\ud" in text else value
    except (TypeError, ValueError, RecursionError) as error:
        _log.warning("tool_data_dropped", reason=str(error))
        return None
