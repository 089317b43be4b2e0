"""What answers over HTTP: how the gateway is, and behind that the pages of its channels. Knows no page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from http import HTTPStatus

from hookgate.channels.web.server import App, Receive, Scope, Send
from hookgate.protocol.codec import encode
from hookgate.serve.readiness import Readiness


def mounted(ready: Callable[[], Awaitable[Readiness]], pages: App | None) -> App:
    """`/health`: the program answers. `/ready`: what works and what does not, with 503 where something does not."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        match scope["path"]:
            case "/health":
                await _say(send, HTTPStatus.OK, {"alive": True})
            case "/ready":
                found = await ready()
                status = HTTPStatus.OK if found.ready else HTTPStatus.SERVICE_UNAVAILABLE
                await _say(send, status, {"ready": found.ready, **asdict(found)})
            case _ if pages is not None:
                await pages(scope, receive, send)
            case path:
                await _say(send, HTTPStatus.NOT_FOUND, {"error": f"there is nothing at {path}"})

    return app


async def _say(send: Send, status: HTTPStatus, value: object) -> None:
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": encode(value)})
