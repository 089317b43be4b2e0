"""A model endpoint that has its tool called, a process of its own: `python -m benchmarks.iteration.model CALLS`.

What is measured is measured here: how long it is from the moment when a reply has left until the next request is
whole. So many times it asks for its tool, then its answer is the microseconds that each iteration took. Prints where
it answers; runs until it is ended. Threads and blocking sockets: nothing here may cost more than a system call.
"""

from __future__ import annotations

import re
import socket
import sys
import threading
from time import perf_counter_ns

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
CALL = (
    '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_%d","type":"function",'
    '"function":{"name":"weather","arguments":"{\\"city\\":\\"Oslo\\"}"}}]}}]}'
)
CALLED = '{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}'
ANSWER = '{"choices":[{"index":0,"delta":{"content":"%s"}}]}'
ANSWERED = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
RESULT = re.compile(rb'"role": ?"tool"')


def answer(calls: int, connection: socket.socket) -> None:
    took, left = list[float](), 0
    while body := _request(connection):
        made = len(RESULT.findall(body))
        took = [*took, (perf_counter_ns() - left) / 1000] if made else []
        events = (CALL % made, CALLED) if made < calls else (ANSWER % _written(took), ANSWERED)
        connection.sendall(HEAD + b"".join(_chunk(it) for it in (*events, "[DONE]")) + b"0\r\n\r\n")
        left = perf_counter_ns()


def _written(took: list[float]) -> str:
    """As words, lest a row of figures is taken for the number of a card."""
    return ", ".join(f"{it:.1f} us" for it in took)


def _request(connection: socket.socket) -> bytes:
    """The body; empty where the client has left."""
    data = b""
    while more := connection.recv(1 << 20):
        data += more
        head, found, body = data.partition(b"\r\n\r\n")
        length = LENGTH.search(head + b"\r\n")
        if found and length and len(body) >= int(length[1]):
            return body
    return b""


def _chunk(event: str) -> bytes:
    line = f"data: {event}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(line), line)


def main(calls: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(f"answers at http://127.0.0.1:{server.getsockname()[1]}/", flush=True)
        while True:
            connection, _ = server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=answer, args=(calls, connection), daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]))
