"""JSON-RPC 2.0 as a server speaks it: one line in, the line that answers it out.

Judges shapes, splits batches and encodes; jsonrpcserver finds and calls the methods. Knows no sockets.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable
from typing import Any, Protocol, cast

import structlog
import trio

from hookgate.control.methods import INTERNAL, Methods, guarded
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import Json

log = structlog.get_logger("hookgate.control")

MAX_BATCH = 50
INVALID_REQUEST = -32600
SERVER_ERROR = -32000
_MEMBERS = frozenset({"jsonrpc", "method", "params", "id"})


class _Library(Protocol):
    """What `hookgate.control.jsonrpc` offers."""

    def parse_error(self, reason: str) -> dict[str, Any]: ...
    def invalid_request(self, reason: str, request_id: Json) -> dict[str, Any]: ...
    def answer(self, request: dict[str, Any], methods: Methods) -> Awaitable[dict[str, Any] | None]: ...


_loaded: _Library | None = None


async def dispatch(line: bytes, methods: Methods) -> bytes | None:
    """The answer to one line, without its newline; None where there is nothing to say.

    Notifications, and responses that are handed in, get no answer. Whatever a method does, this raises nothing
    (but Cancelled).
    """
    library = await _library()
    try:
        message = decode(line)
    except BadMessage as error:
        return encode(library.parse_error(str(error)))
    if isinstance(message, list):
        return await _batch(library, cast("list[object]", message), methods)
    return await _single(library, message, methods)


def error_frame(code: int, message: str, request_id: Json = None) -> bytes:
    """An error without its newline, made without the library."""
    return encode({"jsonrpc": "2.0", "error": {"code": code, "message": message}, "id": request_id})


async def _library() -> _Library:
    global _loaded
    if _loaded is None:
        # In a thread: the import would hold the event loop, and every turn on it, for a quarter of a second.
        _loaded = cast("_Library", await trio.to_thread.run_sync(importlib.import_module, "hookgate.control.jsonrpc"))
    return _loaded


async def _batch(library: _Library, entries: list[object], methods: Methods) -> bytes | None:
    """Each entry judged by itself, all at once; the answers stand in the order of the entries."""
    if not 0 < len(entries) <= MAX_BATCH:
        return encode(library.invalid_request(f"a batch has 1 to {MAX_BATCH} entries, not {len(entries)}", None))
    answers: list[bytes | None] = [None] * len(entries)

    async def judge(place: int) -> None:
        answers[place] = await _single(library, entries[place], methods)

    async with trio.open_nursery() as nursery:
        for place in range(len(entries)):
            nursery.start_soon(judge, place)
    frames = [answer for answer in answers if answer is not None]
    return b"[%s]" % b",".join(frames) if frames else None


async def _single(library: _Library, message: object, methods: Methods) -> bytes | None:
    if not isinstance(message, dict):
        return encode(library.invalid_request("a request is an object", None))
    request = cast("dict[str, Any]", message)
    # First of all: a response that is answered would be answered again, by two servers for ever.
    if "method" not in request and not request.keys().isdisjoint({"result", "error"}):
        log.debug("control_response_ignored", id=str(request.get("id"))[:100])
        return None
    if fault := _fault(request):
        return encode(library.invalid_request(fault, _readable_id(request)))
    name = request["method"]
    chosen = {name: guarded(name, methods[name])} if name in methods else {}
    return _encoded(await library.answer(request, chosen))


def _fault(request: dict[str, Any]) -> str:
    """What is wrong with a request's shape; empty for a sound one."""
    if request.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if not isinstance(request.get("method"), str):
        return "method must be a string"
    if not isinstance(request.get("params", []), list | dict):
        return "params must be an array or an object"
    if "id" in request and request["id"] is not None and _readable_id(request) is None:
        return "id must be a string or a number"
    # Strict, because a misspelt "params" would call the method without them.
    if unknown := sorted(request.keys() - _MEMBERS):
        return f"unknown member {unknown[0][:100]!r}"
    return ""


def _readable_id(request: dict[str, Any]) -> Json:
    match request.get("id"):
        case bool():
            return None
        case str() | int() | float() as readable:
            return readable
        case _:
            return None


def _encoded(members: dict[str, Any] | None) -> bytes | None:
    if members is None:
        return None
    try:
        return encode(members)
    except Exception:  # the encoders raise five kinds, depending on what the method returned
        log.exception("control_result_not_json")
        return error_frame(SERVER_ERROR, INTERNAL, members["id"])
