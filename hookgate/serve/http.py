"""What answers over HTTP: how the gateway is, and behind that the pages of its channels. Knows no page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict
from http import HTTPStatus
from urllib.parse import urlsplit

from hookgate.assembly.channels.opening import Page
from hookgate.channels.http.server import App, Receive, Scope, Send
from hookgate.protocol.codec import encode
from hookgate.serve.readiness import Readiness

FOR_PROGRAMS = ("/hooks/", "/v1/", "/rpc/")
"""What is below these is no page's, whether a channel answers there or not."""


def mounted(ready: Callable[[], Awaitable[Readiness]], pages: Iterable[Page], endpoints: Mapping[str, App]) -> App:
    """`/health`: the program answers. `/ready`: what works and what does not, with 503 where something does not.
    `endpoints`: by path, each with all that is below it. Everything else is the page's that is reached by this name,
    or the one's that has no name of its own."""
    by_host = {urlsplit(page.origin).netloc: page.app for page in pages}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        match scope["path"]:
            case "/health":
                await _say(send, HTTPStatus.OK, {"alive": True})
            case "/ready":
                found = await ready()
                status = HTTPStatus.OK if found.ready else HTTPStatus.SERVICE_UNAVAILABLE
                await _say(send, status, {"ready": found.ready, **asdict(found)})
            case path if (endpoint := _endpoint(endpoints, path)) is not None:
                await endpoint(scope, receive, send)
            case path if path.startswith(FOR_PROGRAMS):
                await _say(send, HTTPStatus.NOT_FOUND, {"error": f"there is nothing at {path}"})
            case path:
                page = by_host.get(_host(scope)) or by_host.get("")
                if page is None:
                    await _say(send, HTTPStatus.NOT_FOUND, {"error": f"there is nothing at {path}"})
                else:
                    await page(scope, receive, send)

    return app


def _endpoint(endpoints: Mapping[str, App], path: str) -> App | None:
    while path not in endpoints and path:
        path = path.rpartition("/")[0]
    return endpoints.get(path)


def _host(scope: Scope) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")


async def _say(send: Send, status: HTTPStatus, value: object) -> None:
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": encode(value)})
