"""What a control method is, and the guard round each call: a deadline, and errors that say no more than they should.

Knows neither JSON-RPC nor sockets, nor what the methods do.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial, wraps
from inspect import unwrap
from typing import Any

import structlog
import trio

from hookgate.operations.refused import OperationRefused
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values import Json

log = structlog.get_logger("hookgate.control")

CALL_TIMEOUT_S = 60.0
INTERNAL = "internal error"
"""All that a caller is told of an exception: its text may hold paths and secrets, and goes to the log."""


@dataclass(frozen=True, slots=True)
class Method:
    """`call` takes the request's params as keywords and returns the operation's result; params that its signature
    does not take, or of another type than its annotations say, are -32602. `changes`: it does more than look, and so
    is asked only of the gateway that was meant. `waits`: for what others do, so it may end with whoever asked."""

    call: Callable[..., Awaitable[object]]
    changes: bool
    waits: bool = False


Methods = Mapping[str, Method]


def annotation(call: Callable[..., object], written: Any) -> Any:  # noqa: ANN401 - any type that JSON can have
    """The type of a parameter or of the result, by what stands in the method's signature: what it returns when it is
    awaited."""
    function = unwrap(call)
    module = (function.func if isinstance(function, partial) else function).__module__
    return eval(written, vars(sys.modules[module])) if isinstance(written, str) else written  # noqa: S307 - our own text


def guarded(name: str, method: Method) -> Method:
    """The same method, which raises nothing but OperationRefused (and Cancelled), and ends within CALL_TIMEOUT_S."""

    @wraps(method.call)
    async def call(*args: Json, **params: Json) -> object:
        try:
            with trio.move_on_after(CALL_TIMEOUT_S):
                return await method.call(*args, **params)
        except OperationRefused:
            raise
        except Exception:
            log.exception("control_method_failed", method=name)
            raise OperationRefused(INTERNAL) from None
        raise OperationRefused(f"{name} took longer than {CALL_TIMEOUT_S:g} s")

    return replace(method, call=call)


def throttled(methods: Methods, slots: trio.Semaphore) -> Methods:
    """The same methods, of which only so many run at a time."""
    return {name: _one_slot(method, slots) for name, method in methods.items()}


def _one_slot(method: Method, slots: trio.Semaphore) -> Method:
    @wraps(method.call)
    async def call(*args: Json, **params: Json) -> object:
        async with slots:
            return await method.call(*args, **params)

    return replace(method, call=call)
