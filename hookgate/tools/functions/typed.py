"""Tools as functions: the signature is the schema, the docstring the description, what is returned the result.

Knows no registry. pydantic is imported when the first such tool is made.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import structlog
import trio
from pydantic_core import ValidationError

from hookgate.protocol.codec import canonical
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values import Access, ToolCall, ToolPreference, ToolResult, ToolSpec
from hookgate.tools.errors import BadSpec, ToolError
from hookgate.tools.failures import failed
from hookgate.tools.schema.signature import signature
from hookgate.tools.schema.spec import check_spec

if TYPE_CHECKING:
    from hookgate.tools.functions.model import Parameters
    from hookgate.tools.functions.result import Returns

_log = structlog.get_logger(__name__)

THREADS = 8
"""Of one tool at once: threads that never end must not take those of everything else with them."""

Function = Callable[..., Any]


class Declared(TypedDict, total=False):
    """What a function cannot say of itself. Left out: its name, its docstring, and what ToolSpec has; so it counts
    as changing state."""

    name: str
    description: str
    mutates: bool
    affects_workspace: bool
    pure: bool
    timeout_s: float
    provider: str
    access: Access
    preference: ToolPreference


class Typed:
    """A Tool that is a function. Called directly it is the function itself."""

    def __init__(self, function: Function, spec: ToolSpec, ends: tuple[Parameters, Returns]) -> None:
        self.spec = spec
        self.in_thread = not _is_async(function)
        self.never_waits = _never_waits(function)
        self._function = function
        self._parameters, self._returns = ends
        self._threads = trio.CapacityLimiter(THREADS)

    def __call__(self, *args: object, **named: object) -> object:
        return self._function(*args, **named)

    def decode(self, call: ToolCall) -> ToolCall | ToolResult:
        """The call with canonical arguments, the same one if they are it already; or the refusal."""
        try:
            arguments = self._parameters.canonical(call.arguments)
        except ValidationError as error:
            return self._misfit(call, error)
        except Exception as error:  # a validator of the author's: whatever it raises, the call has a result
            _log.exception("tool_arguments_crashed", tool=call.name, call_id=call.id)
            return failed(call.name, error)
        given = call.arguments
        if len(arguments) == len(given) and canonical(arguments) == canonical(given):
            return call
        return ToolCall(call.id, call.name, arguments, call.origin, call.decode)

    async def execute(self, call: ToolCall) -> ToolResult:
        ready = partial(self._function, **self._parameters.values(call.arguments))
        try:
            if self.in_thread:
                value = await trio.to_thread.run_sync(ready, abandon_on_cancel=True, limiter=self._threads)
            else:
                value = await ready()
        except SystemExit:
            raise ToolError("fatal", self.spec.name, "it tried to end the whole process") from None
        return self._returns.result(self.spec.name, value)

    def _misfit(self, call: ToolCall, error: ValidationError) -> ToolResult:
        from hookgate.tools.functions.faults import misfit

        schema = self._parameters.schema
        return misfit(call.name, error, call.arguments, schema, signature(call.name, schema))


@overload
def tool(function: Function, /) -> Typed: ...


@overload
def tool(**declared: Unpack[Declared]) -> Callable[[Function], Typed]: ...


def tool(function: Function | None = None, /, **declared: Unpack[Declared]) -> Typed | Callable[[Function], Typed]:
    """Makes a Tool of an annotated function: `@tool`, or `@tool(mutates=False, affects_workspace=False)`.

    A function that is not async runs in a thread, which nothing can stop: past the deadline it goes on, and the
    result says so (`abandoned`). Raises BadSpec where the signature, a default or a flag cannot be a tool's.
    """
    return typed(function, **declared) if function is not None else partial(typed, **declared)


def typed(function: Function, /, **declared: Unpack[Declared]) -> Typed:
    """As `tool`, for a function that stands elsewhere: a method, say."""
    from hookgate.tools.functions.model import parameters
    from hookgate.tools.functions.result import returns

    name = declared.get("name") or getattr(function, "__name__", "")
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise BadSpec(f"{name}: a generator gives no result; return one")
    ends = parameters(function, name), returns(function, name)
    said = ToolSpec(name, inspect.getdoc(function) or "", ends[0].schema, output_schema=ends[1].schema)
    spec = replace(said, **declared)
    check_spec(spec)
    return Typed(function, spec, ends)


def _is_async(function: Function) -> bool:
    """An object with an async `__call__` counts too."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _never_waits(function: Function) -> bool:
    """Whether it is async and awaits nothing; a caller that cannot see into it says no."""
    if not inspect.iscoroutinefunction(function) or not (code := getattr(function, "__code__", None)):
        return False
    return bool(code.co_flags & inspect.CO_COROUTINE) and all(
        it.opname != "SEND" for it in dis.get_instructions(code)
    )
