"""JSON-RPC 2.0 both ways: lines to what they mean, and back. Knows no method, and no id that is pending."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.peer import notification_frame, request_frame
from hookgate.protocol.values import Json, JsonObject

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_FOUND = -32002
"""The protocol's own: what is named is not there."""

Id: TypeAlias = str | int | None
NO_BATCHES = "a request is one object: there are no batches here"


@dataclass(frozen=True, slots=True)
class Call:
    """Wants an answer under its id."""

    id: Id
    method: str
    params: JsonObject


@dataclass(frozen=True, slots=True)
class Notice:
    """Wants none."""

    method: str
    params: JsonObject


@dataclass(frozen=True, slots=True)
class Answer:
    """To a call of ours. `error` is empty where it has a result."""

    id: Json
    result: Json = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is no message; the code and the words of the answer. `id` None: whose it is cannot be said."""

    id: Id
    code: int
    why: str


Incoming: TypeAlias = Call | Notice | Answer | Fault


def read_line(line: bytes) -> Incoming:
    """Never raises; `line` is without its end and not blank."""
    try:
        members = decode(line)
    except BadMessage as error:
        return Fault(None, PARSE_ERROR, f"not JSON: {error}")
    if isinstance(members, list):
        return Fault(None, INVALID_REQUEST, NO_BATCHES)
    if not isinstance(members, dict):
        return Fault(None, INVALID_REQUEST, "a message is an object")
    return _read(cast("dict[str, Any]", members))


def _read(members: dict[str, Any]) -> Incoming:
    id_ = members.get("id")
    # type() and not isinstance: True is an int in Python, and no id.
    if not (id_ is None or type(id_) in (str, int)):
        return Fault(None, INVALID_REQUEST, "id: a string or an integer")
    if members.get("jsonrpc") != "2.0":
        return Fault(id_, INVALID_REQUEST, 'jsonrpc: "2.0"')
    method, params = members.get("method"), members.get("params")
    if "method" not in members:
        return _answer(members, id_)
    if not isinstance(method, str):
        return Fault(id_, INVALID_REQUEST, "method: a string")
    if params is not None and not isinstance(params, dict):
        return Fault(id_, INVALID_PARAMS, "params: an object")
    given = cast("JsonObject", params or {})
    return Call(id_, method, given) if "id" in members else Notice(method, given)


def _answer(members: dict[str, Any], id_: Id) -> Answer | Fault:
    match members:
        case {"error": {"message": str(message)}}:
            return Answer(id_, error=message or "an error without a word")
        case {"error": _}:
            return Answer(id_, error="an error that says nothing")
        case {"result": result}:
            return Answer(id_, result)
        case _:
            return Fault(id_, INVALID_REQUEST, "neither a method nor an answer")


def result_line(id_: Id, result: object) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id_, "result": result}) + b"\n"


def error_line(id_: Id, code: int, message: str) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}) + b"\n"


def call_line(id_: int, method: str, params: object) -> bytes:
    return request_frame(id_, method, encode(params))


def notice_line(method: str, params: object) -> bytes:
    return notification_frame(method, encode(params))
