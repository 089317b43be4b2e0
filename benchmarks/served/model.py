"""A model endpoint, a process of its own: `python -m benchmarks.served.model PIECES PAUSE_S TOGETHER`. Each piece of
an answer is the moment in which it leaves, in microseconds. Prints where it answers; runs until it is ended.

No piece leaves before TOGETHER clients have asked; then each of them begins at a moment of its own within one pause,
as clients do that know nothing of each other.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from time import monotonic_ns

import trio

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
PIECE = '{"choices":[{"index":0,"delta":{"content":"%d "}}]}'
END = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'


def now_us() -> int:
    """Of a clock that all processes of the machine share; short enough to look like no number of a card."""
    return monotonic_ns() // 1000 % 10**9


@dataclass
class _Start:
    """`together`: so many have to ask before the first of them is told anything but the head; then as many again."""

    together: int
    pause_s: float
    asked: int = 0
    all_there: trio.Event = field(default_factory=trio.Event)

    async def wait(self) -> None:
        place, all_there = self.asked, self.all_there
        self.asked += 1
        if self.asked == self.together:
            all_there.set()
            self.asked, self.all_there = 0, trio.Event()
        await all_there.wait()
        await trio.sleep(self.pause_s * place / self.together)


async def _answer(pieces: int, start: _Start, stream: trio.SocketStream) -> None:
    data = b""
    while more := await stream.receive_some(1 << 16):
        data += more
        head, found, body = data.partition(b"\r\n\r\n")
        length = next((int(it[15:]) for it in head.lower().split(b"\r\n") if it.startswith(b"content-length:")), 0)
        if not found or len(body) < length:
            continue
        data = body[length:]
        await stream.send_all(HEAD)
        await start.wait()
        for _ in range(pieces):
            await trio.sleep(start.pause_s)
            await stream.send_all(_chunk(PIECE % now_us()))
        await stream.send_all(_chunk(END) + _chunk("[DONE]") + b"0\r\n\r\n")


def _chunk(event: str) -> bytes:
    line = f"data: {event}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(line), line)


async def _main(pieces: int, pause_s: float, together: int) -> None:
    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=1024)
    print(f"answers at http://127.0.0.1:{listener.socket.getsockname()[1]}/", flush=True)
    await trio.serve_listeners(partial(_answer, pieces, _Start(together, pause_s)), [listener])


if __name__ == "__main__":
    trio.run(_main, int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
