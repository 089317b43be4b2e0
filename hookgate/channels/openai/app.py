"""OpenAI's API as an ASGI application: who asks, which request goes where, what a refusal looks like."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from time import time
from typing import cast

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hookgate.channels.http.requests import Gone, Refused, answer, read_body
from hookgate.channels.http.server import App, Receive, Scope, Send
from hookgate.channels.openai.asking import Asking, Posted
from hookgate.channels.openai.channel import OpenAIChannel
from hookgate.channels.openai.completion_chunks import Completion
from hookgate.channels.openai.completion_wire import read_completion_request
from hookgate.channels.openai.errors import ApiError, bad_request, unauthorized
from hookgate.channels.openai.leaving import Leaving
from hookgate.channels.openai.serving import Client, Serving
from hookgate.channels.openai.settings import DEFAULT_MODEL, Holder, OpenAIParts, OpenAISettings
from hookgate.protocol.catalog import StoreFailed, StoreFull
from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage

log = structlog.get_logger("hookgate.openai")

BODY_BYTES, BODY_S = 32_000_000, 120.0
"""A request holds all that was said, pictures too."""


class OpenAIApi:
    def __init__(self, settings: OpenAISettings, parts: OpenAIParts, channel: OpenAIChannel, leaving: Leaving) -> None:
        self._parts, self._started = parts, int(time())
        self._asking = Asking(channel.name, parts)
        self._serving = Serving(settings, parts, channel, leaving)

    @property
    def app(self) -> App:
        routes = [
            Route("/v1/models", self._models, methods=["GET"]),
            Route("/v1/models/{id:path}", self._model, methods=["GET"]),
            Route("/v1/chat/completions", _Raw(self._complete), methods=["POST"]),
        ]
        errors = {ApiError: _told, Refused: _refused, StoreFailed: _not_stored, Gone: _gone, 404: _nothing, 405: _nothing}
        return cast("App", Starlette(routes=routes, exception_handlers=errors))

    # --- who asks ---

    def _holder(self, request: Request) -> Holder:
        """Raises ApiError."""
        holder = self._parts.holder(_token(request))
        if holder is None:
            raise unauthorized()
        if why := self._parts.refuses(holder.name):
            raise ApiError(403, why, None, "not_heard", "permission_error")
        return holder

    def _stays(self, token: str) -> bool:
        """Keys are taken back at any time."""
        holder = self._parts.holder(token)
        return holder is not None and not self._parts.refuses(holder.name)

    # --- what is asked ---

    async def _models(self, request: Request) -> Response:
        self._holder(request)
        return answer({"object": "list", "data": [self._shown(it) for it in (DEFAULT_MODEL, *self._parts.agents())]})

    async def _model(self, request: Request) -> Response:
        self._holder(request)
        self._asking.agent(name := request.path_params["id"])
        return answer(self._shown(name))

    def _shown(self, name: str) -> dict[str, object]:
        return {"id": name, "object": "model", "created": self._started, "owned_by": "hookgate"}

    async def _complete(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        posted = await self._posted(request)
        wanted = read_completion_request(posted.body)
        asked = await self._asking.completion(posted, wanted)
        options = wanted.stream_options
        usage = options is not None and bool(options.include_usage)
        form = Completion(f"chatcmpl-{asked.place.message}", wanted.model, int(time()), usage)
        stays = partial(self._stays, _token(request))
        await self._serving.serve(Client(request, send, form), asked, stream=bool(wanted.stream), stays=stays)

    async def _posted(self, request: Request) -> Posted:
        """Raises ApiError, Refused and Gone."""
        holder = self._holder(request)
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise ApiError(415, "the body has to be application/json")
        raw = await read_body(request, BODY_BYTES, BODY_S)
        try:
            body = decode(raw)
        except (BadMessage, UnicodeDecodeError) as error:
            raise bad_request(f"the body is no JSON: {error}") from None
        if not isinstance(body, dict):
            raise bad_request("the body is no JSON object")
        return Posted(holder.name, request.headers, cast("dict[str, object]", body), raw)


class _Raw:
    """An ASGI application, which Starlette would take for a function of a request."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def _told(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)  # noqa: S101 - as it is registered
    return answer(error.body, error.status, error.headers)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101 - as it is registered
    return await _told(request, ApiError(error.status, error.why, headers=error.headers or {}))


async def _not_stored(request: Request, error: Exception) -> Response:
    """Nothing has begun, so clients may try again by themselves."""
    log.warning("not_stored", reason=str(error))
    why = "the gateway's disk is full" if isinstance(error, StoreFull) else "the gateway cannot store it now"
    headers = {"retry-after": "5"}
    return await _told(request, ApiError(503, f"not taken: {why}", None, "not_stored", "server_error", headers))


async def _gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=499)


async def _nothing(request: Request, _error: Exception) -> Response:
    told = f"there is no {request.method} {request.url.path} here"
    return await _told(request, ApiError(404, told, None, "unknown_url"))
