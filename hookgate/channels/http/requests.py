"""One request: who makes it, whether it may, its body within its limits. Every refusal is a status and one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import trio
from starlette.requests import Request
from starlette.responses import Response

from hookgate.processes.rates import Rate
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage

JSON_BYTES = 1_000_000
TRACE_BYTES = 128
BODY_S = 30.0
"""For a whole body of JSON."""


class HttpRefused(Exception):
    """The request is answered with this status and line."""

    def __init__(self, status: int, why: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.headers = status, why, headers


class Gone(Exception):
    """The client has left in the middle of its request."""


def wait(rate: Rate, who: str) -> None:
    """Raises HttpRefused for who asks too often."""
    if wait_s := rate.take(who):
        raise HttpRefused(429, f"too often; again in {wait_s} s", {"retry-after": str(wait_s)})


async def read_body(request: Request, most: int, within_s: float) -> bytes:
    """Raises HttpRefused and Gone."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise HttpRefused(413, f"more than {most} bytes")
    body = bytearray()
    with trio.move_on_after(within_s):
        while True:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise Gone
            body += message.get("body", b"")
            if len(body) > most:
                raise HttpRefused(413, f"more than {most} bytes")
            if not message.get("more_body", False):
                return bytes(body)
    raise HttpRefused(408, f"not all of it came within {within_s:g} s")


async def read_json(request: Request, most: int = JSON_BYTES, within_s: float = 0.0) -> Mapping[str, Any]:
    """An object; any page can send what is not declared as JSON. `within_s` 0: BODY_S. Raises HttpRefused, Gone."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HttpRefused(415, "the body has to be application/json")
    try:
        value = decode(await read_body(request, most, within_s or BODY_S))
    except (BadMessage, UnicodeDecodeError) as error:
        raise HttpRefused(400, f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise HttpRefused(400, "no JSON object")
    return cast("dict[str, Any]", value)


def trace_of(headers: Mapping[str, str]) -> str:
    """The W3C traceparent that a request is part of, as it came; empty: of none."""
    shown = headers.get("traceparent", "")
    return shown if len(shown) <= TRACE_BYTES else ""


def text_of(members: Mapping[str, Any], name: str, most: int = JSON_BYTES) -> str:
    """Empty where it is not there."""
    value = members.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > most:
        raise HttpRefused(400, f"{name} has to be a text of at most {most} characters")
    return value


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode(value), status, headers, "application/json")
