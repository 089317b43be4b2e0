"""The steps of jsonrpcserver that need no event loop of their own; the only module that imports it.

Its import takes a quarter of a second, so nothing imports this module before the first request. Its own dispatch
is not used: that gathers with asyncio, fails a whole batch for one bad entry, and sends exception texts out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from functools import cache
from inspect import BoundArguments, Signature, signature
from typing import Any, cast

from jsonrpcserver import Error, InvalidParams, Result, Success
from jsonrpcserver.async_dispatcher import dispatch_request
from jsonrpcserver.codes import ERROR_SERVER_ERROR
from jsonrpcserver.dispatcher import create_request, not_notification, to_response
from jsonrpcserver.response import (
    InvalidRequestResponse,
    ParseErrorResponse,
    serialize_error,
    to_serializable_one,
)
from jsonrpcserver.sentinels import NOCONTEXT
from pydantic import TypeAdapter, ValidationError

from hookgate.control.methods import Method, Methods, annotation
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.values import Json

Members = dict[str, Any]


def parse_error(reason: str) -> Members:
    return serialize_error(ParseErrorResponse(reason))


def invalid_request(reason: str, request_id: Json) -> Members:
    """Echoes the id where it could be read, which the library never does."""
    return serialize_error(InvalidRequestResponse(reason)._replace(id=request_id))


async def answer(request: Members, methods: Methods) -> Members | None:
    """What a well-formed request is answered; None for a notification. The methods raise OperationRefused at most."""
    served = {name: _served(method) for name, method in methods.items()}
    handled = await dispatch_request(served, NOCONTEXT, create_request(request))
    if not not_notification(handled):
        return None
    response: Any = to_response(*handled)  # the library's two names for its type do not agree
    return cast("Members", to_serializable_one(response))


def _served(method: Method) -> Any:  # noqa: ANN401 - the library types its methods as synchronous
    shape = signature(method.call)

    async def call(*args: Json, **params: Json) -> Result:
        # The library would name the first misfit alone.
        misfits = tuple(dict.fromkeys(_misfits(shape, args, params)))
        if faults := misfits or tuple(_faults(method.call, shape.bind(*args, **params))):
            return InvalidParams("; ".join(faults))
        try:
            return Success(_members(await method.call(*args, **params)))
        except OperationRefused as error:
            return Error(ERROR_SERVER_ERROR, str(error))

    return call


def _misfits(shape: Signature, args: tuple[Json, ...], params: Members) -> Iterator[str]:
    """What is missing, and what nobody takes: often the one is the other's misspelling."""
    for bind in (shape.bind, shape.bind_partial):
        try:
            bind(*args, **params)
        except TypeError as error:
            yield str(error)


def _members(result: Any) -> Any:  # noqa: ANN401 - what an operation returns
    """Values as their members."""
    if isinstance(result, tuple):
        return [_members(it) for it in cast("tuple[Any, ...]", result)]
    return asdict(result) if is_dataclass(result) and not isinstance(result, type) else result


def _faults(call: Callable[..., object], given: BoundArguments) -> Iterator[str]:
    """What is not of the type that the method's annotation says; the names fit already."""
    for name, value in given.arguments.items():
        try:
            kind = annotation(call, given.signature.parameters[name].annotation)
            _reader(kind).validate_python(value, strict=True)
        except ValidationError as error:
            for fault in error.errors(include_url=False):
                place = ".".join(map(str, (name, *fault["loc"])))
                yield f"{place}: {fault['msg'].replace('Input should be', 'must be').replace('dictionary', 'object')}"


@cache
def _reader(annotation: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - any type that JSON can have
    return TypeAdapter(annotation)
