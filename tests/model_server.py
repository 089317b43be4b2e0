"""A model endpoint on loopback that says what a test tells it to, faults included, and records what it was asked.

    async with open_model_server(says("one ", "two"), fails(429, "slow down", ("Retry-After", "2"))) as server:
        async with open_openai(server.base_url, "a key") as provider: ...
    assert server.requests[0].body["model"] == "m"

Answers are given in order; when they are used up the server echoes the last message. The constructors speak
OpenAI's format; `events`, `plain` and `Answer` itself send whatever is put into them, on any path.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import trio


@dataclass(frozen=True)
class Answer:
    """One HTTP answer; each piece is a write of its own, so a client sees them one after the other.

    `ending`: `whole` ends the body as HTTP asks, `cut` closes the connection in the middle of it, `hang` leaves
    it open until the client goes. Without `head` nothing is sent at all before the ending. `pause_s`: seconds
    before each piece; `go`: what the first is waited for with.
    """

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()
    ending: Literal["whole", "cut", "hang"] = "whole"
    head: bool = True
    pause_s: float = 0.0
    go: trio.Event | None = None


@dataclass(frozen=True)
class Received:
    """One request; header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass
class ModelServer:
    """`clients_gone` counts connections that the client has closed; `arrived` is set by the first request.
    `otherwise`: what is said when the answers are used up."""

    base_url: str
    answers: list[Answer]
    otherwise: Callable[[Received], Answer]
    requests: list[Received] = field(default_factory=list)
    clients_gone: int = 0
    arrived: trio.Event = field(default_factory=trio.Event)

    def next_answer(self, received: Received) -> Answer:
        if self.answers:
            return self.answers.pop(0)
        return self.otherwise(received)


# --- answers ------------------------------------------------------------------------------------------------

DONE = b"data: [DONE]\n\n"


def event(value: object, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def events(*values: object, done: bool = True) -> Answer:
    """A stream of exactly these JSON values."""
    return Answer((*(event(value) for value in values), *([DONE] if done else [])))


def chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    """One `chat.completion.chunk`."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "c", "object": "chat.completion.chunk", "model": "served", "choices": [choice]}


def usage(prompt: int, completion: int, cached: int = 0) -> dict[str, Any]:
    """The chunk without choices that ends a stream when `include_usage` is set."""
    counted = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {"choices": [], "usage": {**counted, "prompt_tokens_details": {"cached_tokens": cached}}}


def says(*words: str) -> Answer:
    """Text, a chunk for each word."""
    return events(
        chunk({"role": "assistant"}), *(chunk({"content": w}) for w in words), chunk({}, "stop"), usage(7, 3)
    )


def calls(*wanted: tuple[str, str, str]) -> Answer:
    """Tool calls as (id, name, arguments), each whole in one chunk."""
    deltas = [
        {"index": i, "id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (id_, name, arguments) in enumerate(wanted)
    ]
    return events(*(chunk({"tool_calls": [delta]}) for delta in deltas), chunk({}, "tool_calls"), usage(7, 3))


def plain(value: object, status: int = 200, *headers: tuple[str, str]) -> Answer:
    """One JSON body, as from a server that does not stream."""
    return Answer((json.dumps(value).encode(),), status, "application/json", headers)


def fails(status: int, message: str, *headers: tuple[str, str], **error: Any) -> Answer:
    """An error object; `error` adds members to it, `code` or `type`."""
    return plain({"error": {"message": message, **error}}, status, *headers)


def cut(answer: Answer, after: int) -> Answer:
    """The connection breaks after so many pieces."""
    return replace(answer, pieces=answer.pieces[:after], ending="cut")


def hang(answer: Answer, after: int) -> Answer:
    """Silence after so many pieces."""
    return replace(answer, pieces=answer.pieces[:after], ending="hang")


DROPPED = Answer(ending="cut", head=False)
"""The connection is closed instead of an answer."""
SILENT = Answer(ending="hang", head=False)
"""The request is read, and nothing ever comes back."""


# --- the server ---------------------------------------------------------------------------------------------


def echo(received: Received) -> Answer:
    return says(str(received.body["messages"][-1]["content"]))


@asynccontextmanager
async def open_model_server(
    *answers: Answer, otherwise: Callable[[Received], Answer] = echo
) -> AsyncGenerator[ModelServer, None]:
    """Listens on a free port of loopback; leaving drops all connections."""
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listeners[0].socket.getsockname()[1]
        server = ModelServer(f"http://127.0.0.1:{port}/v1", list(answers), otherwise)
        nursery.start_soon(trio.serve_listeners, partial(_serve, server), listeners)
        yield server
        nursery.cancel_scope.cancel()


async def _serve(server: ModelServer, stream: trio.SocketStream) -> None:
    buffer = bytearray()
    try:
        while (received := await _receive(stream, buffer)) is not None:
            server.requests.append(received)
            server.arrived.set()
            if not await _send(stream, server.next_answer(received)):
                return
    except trio.BrokenResourceError:
        pass
    finally:
        server.clients_gone += 1


async def _receive(stream: trio.SocketStream, buffer: bytearray) -> Received | None:
    while (end := buffer.find(b"\r\n\r\n")) < 0:
        if not await _more(stream, buffer):
            return None
    first, *lines = buffer[:end].decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    size = end + 4 + int(headers.get("content-length", "0"))
    while len(buffer) < size:
        if not await _more(stream, buffer):
            return None
    body = bytes(buffer[end + 4 : size])
    del buffer[:size]
    return Received(first.split(" ")[1], headers, json.loads(body or b"{}"))


async def _more(stream: trio.SocketStream, buffer: bytearray) -> bool:
    data = await stream.receive_some(65536)
    buffer += data
    return bool(data)


async def _send(stream: trio.SocketStream, answer: Answer) -> bool:
    """Whether the connection can take another request."""
    if answer.head:
        headers = (("Content-Type", answer.content_type), ("Transfer-Encoding", "chunked"), *answer.headers)
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers if value)
        await stream.send_all(f"HTTP/1.1 {answer.status} X\r\n{lines}\r\n".encode())
    if answer.go is not None:
        await answer.go.wait()
    for piece in answer.pieces:
        await trio.sleep(answer.pause_s)
        await stream.send_all(b"%x\r\n%s\r\n" % (len(piece), piece))
    match answer.ending:
        case "whole":
            await stream.send_all(b"0\r\n\r\n")
            return True
        case "hang":
            await stream.receive_some(1)
            return False
        case "cut":
            return False
