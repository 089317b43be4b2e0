"""An MCP server as a child process: the SDK's two streams on one side, its pipes on the other. Knows no tool.

The SDK's own stdio transport is not used: its lines have no limit, it looks at the environment, and children of a
server that ends by itself outlive it.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate.processes.child import Child, open_child
from hookgate.processes.outbox import Outbox
from hookgate.processes.pipes import STDERR_LINES_PER_S, Program, TakeLines, open_pipes
from hookgate.processes.rounds import Writes, open_rounds
from hookgate.tools.mcp.connect_request import plain
from hookgate.tools.mcp.server import ConnectFailed, ServerSpec
from hookgate.tools.mcp.transport.ending import Flood
from hookgate.tools.mcp.transport.lines import Lines
from hookgate.tools.mcp.transport.tap import ReadTap, Tap, WriteTap

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

log = structlog.get_logger("hookgate.mcp")

MAX_TO_SEND = 64


@asynccontextmanager
async def open_stdio(spec: ServerSpec, tap: Tap) -> AsyncGenerator[TransportStreams]:
    """The running server's two streams. Leaving stops its process group and reaps it.

    Raises ConnectFailed where it cannot be started. Once open nothing that happens to it raises: the tap's ending
    says so.
    """
    import anyio

    if spec.recheck is not None and (refused := await spec.recheck()):
        raise ConnectFailed(refused)
    try:
        pipes = await open_pipes(Program(spec.command, spec.directory or ".", spec.environment))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConnectFailed(f"it cannot be started: {spec.command[0]}: {reason}") from None
    # What is read has been weighed by then, so that no more waits than a flood may have.
    incoming, received = anyio.create_memory_object_stream["SessionMessage | Exception"](math.inf)
    outgoing, to_send = anyio.create_memory_object_stream["SessionMessage"](MAX_TO_SEND)
    child = Child(pipes)
    try:
        async with open_rounds() as rounds:
            server = _Server(child, tap, incoming, to_send, rounds.writes)
            async with open_child(child, server, _logged(spec.name), rounds.reads):
                yield ReadTap(received, tap, judged=True), WriteTap(outgoing, tap)
    finally:
        for stream in (incoming, received, outgoing, to_send):
            stream.close()


class _Server:
    """The conversation with its process, which the SDK holds: here its messages are only passed on."""

    def __init__(
        self,
        child: Child,
        tap: Tap,
        incoming: MemoryObjectSendStream[SessionMessage | Exception],
        to_send: MemoryObjectReceiveStream[SessionMessage],
        writes: Writes,
    ) -> None:
        self._child, self._tap = child, tap
        self._incoming, self._to_send = incoming, to_send
        self._lines = Lines(tap)
        self._outbox = Outbox[bytes](child.pipes.stdin, lambda event, _dropped: event, child.cut, writes)

    def take(self, data: bytes) -> int:
        """The tap knows better than a count of bytes what is a flood."""
        from mcp.shared.message import SessionMessage

        for message in self._lines.feed(data):
            if self._tap.passes(message):
                self._incoming.send_nowait(SessionMessage(message))
        if self._tap.ending.event.is_set():
            self._child.end(self._tap.ending.reason)
        return 0

    def abandon(self, reason: str) -> None:
        """The SDK reads what has come until then, and with it the end."""
        words = self._child.last_words[-1:]
        self._tap.ending.foreseen = reason + "".join(f" (its last words: {plain(it[:200].strip())})" for it in words)
        self._incoming.close()
        self._outbox.close()

    async def run_writer(self) -> None:
        """What waits for a pipe that is full waits in the SDK's stream, where it is bounded."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._outbox.run)
            async for item in self._to_send:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._outbox.send([text.encode("utf-8", "replace") + b"\n"])
                await self._outbox.emptied()

    async def introduce(self) -> str | None:
        """The SDK shakes hands."""
        return None

    async def leave(self) -> None:
        """Without a word: closing its stdin says it."""


def _logged(name: str) -> TakeLines:
    over = Flood(STDERR_LINES_PER_S, 1.0)

    def take(lines: Sequence[bytes]) -> None:
        for line in lines:
            if (text := line.decode("utf-8", "replace").strip()) and not over.over():
                log.info("mcp_stderr", connection=name, line=text)

    return take
