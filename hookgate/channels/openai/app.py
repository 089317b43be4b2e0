"""OpenAI's API as an ASGI application: who asks, which request goes where, what a refusal looks like."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from time import time
from typing import Any, TypeVar, cast

import structlog
import trio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response as HttpResponse
from starlette.routing import Route

from hookgate.channels.http.requests import Gone, HttpRefused, answer, read_body
from hookgate.channels.http.server import App, Receive, Scope, Send
from hookgate.channels.openai.answers.answer import Answer
from hookgate.channels.openai.answers.answering import Whole
from hookgate.channels.openai.answers.past import replay
from hookgate.channels.openai.asking import Posted, RequestReader
from hookgate.channels.openai.completions.chunks import Completion
from hookgate.channels.openai.completions.wire import read_completion_request
from hookgate.channels.openai.errors import ApiError, bad_request, turn_failed
from hookgate.channels.openai.identity import Addressed, agent_of, call_id, response_id
from hookgate.channels.openai.load import Load
from hookgate.channels.openai.responses.events import Response
from hookgate.channels.openai.responses.wire import ResponseRequest, read_response_request
from hookgate.channels.openai.serving import Client, Serving
from hookgate.channels.openai.settings import DEFAULT_MODEL, OpenAIParts, OpenAISettings
from hookgate.protocol.catalog import StoreFailed, StoreFull
from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import decode
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.journal.keys import Key
from hookgate.protocol.journal.views import Exchange

log = structlog.get_logger("hookgate.openai")

BODY_BYTES, BODY_S = 16_000_000, 120.0
"""A request holds all that was said, pictures too."""
MOST_BRACKETS = 250_000
"""Of a body, those in texts too: each may be an object or a list, which takes many times its bytes."""
ASIDE_BYTES, ASIDE = 256_000, 2
"""Larger bodies are read in threads, so many at once."""

Wanted = TypeVar("Wanted")


KINDS = {
    401: ("invalid_api_key", "authentication_error"),
    403: ("wrong_api_key", "permission_error"),
    429: ("too_many_tries", "rate_limit_error"),
}
"""What a refusal is called, by its status."""


class OpenAIApi:
    def __init__(self, settings: OpenAISettings, parts: OpenAIParts, serving: Serving) -> None:
        self._settings, self._parts, self._started = settings, parts, int(time())
        self._asking = RequestReader(settings, parts)
        self._serving = serving
        self._load, self._aside = Load(), trio.CapacityLimiter(ASIDE)

    @property
    def app(self) -> App:
        routes = [
            Route("/v1/models", self._models, methods=["GET"]),
            Route("/v1/models/{id:path}", self._model, methods=["GET"]),
            Route("/v1/chat/completions", _Raw(self._complete), methods=["POST"]),
            Route("/v1/responses", _Raw(self._respond), methods=["POST"]),
            Route("/v1/responses/{id}", self._response, methods=["GET"]),
            Route("/v1/responses/{id}", self._forget, methods=["DELETE"]),
        ]
        errors = {
            ApiError: _told,
            HttpRefused: _refused,
            StoreFailed: _not_stored,
            Gone: _gone,
            404: _nothing,
            405: _nothing,
        }
        return cast("App", Starlette(routes=routes, exception_handlers=errors))

    # --- who asks ---

    def _admit(self, request: Request) -> Key:
        """Raises HttpRefused and ApiError."""
        key = self._parts.bearers.admit(request)
        if why := self._parts.refuses(key.name):
            raise ApiError(403, why, None, "not_heard", "permission_error")
        return key

    # --- what is asked ---

    async def _models(self, request: Request) -> HttpResponse:
        self._admit(request)
        return answer({"object": "list", "data": [self._shown(it) for it in (DEFAULT_MODEL, *self._parts.agents())]})

    async def _model(self, request: Request) -> HttpResponse:
        self._admit(request)
        self._asking.agent(name := request.path_params["id"])
        return answer(self._shown(name))

    def _shown(self, name: str) -> dict[str, object]:
        return {"id": name, "object": "model", "created": self._started, "owned_by": "hookgate"}

    async def _complete(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        key = self._admit(request)
        with self._load.request(key):
            posted, wanted = await self._posted(request, key, read_completion_request)
            asked = await self._asking.completion(posted, wanted)
            options = wanted.stream_options
            usage = options is not None and bool(options.include_usage)
            form = Completion(f"chatcmpl-{asked.place.message}", wanted.model, int(time()), usage)
            await self._serving.serve(Client(request, send, form, key), asked, stream=bool(wanted.stream))

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        key = self._admit(request)
        with self._load.request(key):
            posted, wanted = await self._posted(request, key, read_response_request)
            asked = await self._asking.response(posted, wanted)
            form = Response(response_id(asked.place), wanted, int(time()), self._settings.show_tools)
            await self._serving.serve(Client(request, send, form, key), asked, stream=bool(wanted.stream))

    async def _response(self, request: Request) -> HttpResponse:
        """One that was answered before, or is still worked on, wherever."""
        named, (chat, exchanges, at) = await self._known(request)
        exchange, said = exchanges[at], Answer()
        wanted = ResponseRequest(model=agent_of(chat) or DEFAULT_MODEL, input="")
        form = Response(named, wanted, int(exchange.at), self._settings.show_tools)
        if exchange.outcome is None:
            return answer(form.shown("in_progress"))
        await replay(said, exchange, self._parts, whole=True)
        if said.failure:
            raise turn_failed(said.failure)
        calls = tuple(replace(it, id=call_id(chat, it.id)) for it in said.calls)
        whole = Whole(tuple(said.parts), said.finish_reason, calls, said.usage)
        return answer(form.body(whole))

    async def _forget(self, request: Request) -> HttpResponse:
        """One that stands alone: what is left of a conversation would lack it."""
        named, (chat, exchanges, at) = await self._known(request)
        if exchanges[at].outcome is None:
            raise bad_request("it is still worked on: it can go once it is answered", "id", "response_in_progress")
        if len(exchanges) > 1 or not Addressed(chat, "").alone:
            why = (
                "it is part of a conversation, which would go with it: hookgate sessions forget, or a day, ends that"
            )
            raise bad_request(why, "id", "response_in_conversation")
        await self._parts.journal.books.forget(await self._asking.conversation(chat))
        return answer({"id": named, "object": "response", "deleted": True})

    async def _known(self, request: Request) -> tuple[str, tuple[Chat, tuple[Exchange, ...], int]]:
        """The response that the path names, and where it was said. Raises HttpRefused and ApiError."""
        key, named = self._admit(request), request.path_params["id"]
        found = await self._asking.answered(key.name, named)
        if found is None:
            raise ApiError(404, f"there is no response {named!r} here, or not any more", "id", "not_found")
        return named, found

    async def _posted(
        self, request: Request, key: Key, read: Callable[[Mapping[str, Any]], Wanted]
    ) -> tuple[Posted, Wanted]:
        """Raises ApiError, HttpRefused and Gone."""
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise ApiError(415, "the body has to be application/json")
        declared = request.headers.get("content-length", "")
        size = min(int(declared), BODY_BYTES) if declared.isdigit() else BODY_BYTES
        with self._load.body(key, size):
            raw = await read_body(request, BODY_BYTES, BODY_S)
            if len(raw) > ASIDE_BYTES:
                body, wanted, digest = await trio.to_thread.run_sync(_understood, raw, read, limiter=self._aside)
            else:
                body, wanted, digest = _understood(raw, read)
        return Posted(key.name, request.headers, body, digest), wanted


def _understood(raw: bytes, read: Callable[[Mapping[str, Any]], Wanted]) -> tuple[Mapping[str, Any], Wanted, str]:
    """The body, what is read from it, and its digest. Raises ApiError."""
    if raw.count(b"{") + raw.count(b"[") > MOST_BRACKETS:
        raise ApiError(413, f"more than {MOST_BRACKETS} brackets")
    try:
        body = decode(raw)
    except (BadMessage, UnicodeDecodeError) as error:
        raise bad_request(f"the body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise bad_request("the body is no JSON object")
    members = cast("dict[str, Any]", body)
    return members, read(members), sha256(raw).hexdigest()


class _Raw:
    """An ASGI application, which Starlette would take for a function of a request."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


async def _told(_request: Request, error: Exception) -> HttpResponse:
    assert isinstance(error, ApiError)  # noqa: S101 - as it is registered
    return answer(error.body, error.status, error.headers)


async def _refused(request: Request, error: Exception) -> HttpResponse:
    assert isinstance(error, HttpRefused)  # noqa: S101 - as it is registered
    code, kind = KINDS.get(error.status, (None, "invalid_request_error"))
    return await _told(request, ApiError(error.status, error.why, None, code, kind, error.headers or {}))


async def _not_stored(request: Request, error: Exception) -> HttpResponse:
    """Nothing has begun, so clients may try again by themselves."""
    log.warning("not_stored", reason=str(error))
    why = "the gateway's disk is full" if isinstance(error, StoreFull) else "the gateway cannot store it now"
    headers = {"retry-after": "5"}
    return await _told(request, ApiError(503, f"not taken: {why}", None, "not_stored", "server_error", headers))


async def _gone(_request: Request, _error: Exception) -> HttpResponse:
    return HttpResponse(status_code=499)


async def _nothing(request: Request, _error: Exception) -> HttpResponse:
    told = f"there is no {request.method} {request.url.path} here"
    return await _told(request, ApiError(404, told, None, "unknown_url"))
