"""The steps of jsonrpcserver that need no event loop of their own; the only module that imports it.

Its import takes a quarter of a second, so nothing imports this module before the first request. Its own dispatch
is not used: that gathers with asyncio, fails a whole batch for one bad entry, and sends exception texts out.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, cast

from jsonrpcserver import Error, Result, Success
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

from hookgate.control.methods import ControlError, Method, Methods
from hookgate.protocol.values import Json

Members = dict[str, Any]


def parse_error(reason: str) -> Members:
    return serialize_error(ParseErrorResponse(reason))


def invalid_request(reason: str, request_id: Json) -> Members:
    """Echoes the id where it could be read, which the library never does."""
    return serialize_error(InvalidRequestResponse(reason)._replace(id=request_id))


async def answer(request: Members, methods: Methods) -> Members | None:
    """What a well-formed request is answered; None for a notification. The methods raise ControlError at most."""
    served = {name: _served(method) for name, method in methods.items()}
    handled = await dispatch_request(served, NOCONTEXT, create_request(request))
    if not not_notification(handled):
        return None
    response: Any = to_response(*handled)  # the library's two names for its type do not agree
    return cast("Members", to_serializable_one(response))


def _served(method: Method) -> Any:  # noqa: ANN401 - the library types its methods as synchronous
    # wraps, so that the library checks the params against the signature of the method itself.
    @wraps(method)
    async def call(*args: Json, **params: Json) -> Result:
        try:
            return Success(await method(*args, **params))
        except ControlError as error:
            return Error(ERROR_SERVER_ERROR, str(error))

    return call
