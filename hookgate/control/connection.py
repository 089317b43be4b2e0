"""One client of the control socket: its lines in, the answers out, and the limits that keep it from harming others.

Knows no JSON-RPC beyond "a line may have an answer", and not where the stream comes from.
"""

from __future__ import annotations

from contextlib import suppress

import trio

from hookgate.control.methods import Methods, throttled
from hookgate.control.rpc import INVALID_REQUEST, dispatch, error_frame
from hookgate.protocol.framing import LineSplitter, Oversize

MAX_LINE_BYTES = 1 << 20
MAX_IN_FLIGHT = 16
IDLE_S = 60.0
SEND_TIMEOUT_S = 10.0
"""How long a client may leave an answer unread before it is cut off."""


class Connection:
    """Answers come in the order in which they are ready. Does not own the stream."""

    def __init__(self, stream: trio.abc.Stream, methods: Methods) -> None:
        self._stream = stream
        # Lines and calls apart, because one line may be a batch of many calls.
        self._methods = throttled(methods, trio.Semaphore(MAX_IN_FLIGHT))
        self._lines = trio.Semaphore(MAX_IN_FLIGHT)
        self._writing = trio.Lock()
        self._splitter = LineSplitter(MAX_LINE_BYTES)
        self._unfinished = 0

    async def run(self) -> None:
        """Until the client says no more and has every answer, is idle, or breaks the limits.

        Calls of a client that has vanished run to their end; their answers are dropped.
        """
        async with trio.open_nursery() as nursery:
            while chunk := await self._receive():
                if not await self._take(chunk, nursery):
                    await self._send(error_frame(INVALID_REQUEST, f"a line has at most {MAX_LINE_BYTES} bytes"))
                    break
            else:
                # The last line of a stream may lack its newline.
                await self._take(b"\n", nursery)

    async def _receive(self) -> bytes | bytearray:
        """The next chunk; empty at the end of the stream, and for a client that waits for nothing and is idle."""
        while True:
            with trio.move_on_after(IDLE_S):
                try:
                    return await self._stream.receive_some()
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return b""
            if self._lines.value == MAX_IN_FLIGHT:
                return b""

    async def _take(self, chunk: bytes | bytearray, nursery: trio.Nursery) -> bool:
        """Start answering the lines that the chunk completes; False at a line over the limit."""
        self._unfinished = len(chunk) - chunk.rfind(b"\n") - 1 + (0 if b"\n" in chunk else self._unfinished)
        for line in self._splitter.feed(bytes(chunk)):
            if isinstance(line, Oversize):
                return False
            if line.strip():
                # Held until its answer is written: a client that never reads is soon not read either.
                await self._lines.acquire()
                nursery.start_soon(self._answer, line)
        # A line that never ends is reported by nobody else.
        return self._unfinished <= MAX_LINE_BYTES

    async def _answer(self, line: bytes) -> None:
        try:
            answer = await dispatch(line, self._methods)
            if answer is not None:
                await self._send(answer)
        finally:
            self._lines.release()

    async def _send(self, answer: bytes) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async with self._writing:
                with trio.move_on_after(SEND_TIMEOUT_S) as scope:
                    await self._stream.send_all(answer + b"\n")
                if scope.cancelled_caught:
                    # Half a line may be out, so nothing can follow it.
                    await trio.aclose_forcefully(self._stream)
