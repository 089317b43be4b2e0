"""An MCP server as a child process: started without a shell, read with a cap, stopped with its whole group.

Knows no tool. The SDK's own stdio transport is not used: its lines have no limit, it looks at the environment, and
children of a server that ends by itself outlive it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate.processes import group
from hookgate.tools.mcp.asked import plain
from hookgate.tools.mcp.server import ConnectFailed, ServerSpec
from hookgate.tools.mcp.transport.ending import Flood
from hookgate.tools.mcp.transport.lines import Lines
from hookgate.tools.mcp.transport.tap import ReadTap, Tap, WriteTap

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

log = structlog.get_logger("hookgate.mcp")

READ_BYTES = 1 << 16
STOP_S = 10.0
"""Beyond this not even a killed process has gone: the kernel holds it."""
DRAIN_S = 0.3
"""How long the last words of an ended process are waited for, and the exit status after the last words."""
STDERR_LINES_PER_S = 50
STDERR_LINE_BYTES = 2048


@asynccontextmanager
async def open_stdio(spec: ServerSpec, tap: Tap) -> AsyncGenerator[TransportStreams]:
    """The running server's two streams. Leaving stops its process group and reaps it.

    Raises ConnectFailed where it cannot be started. Once open nothing that happens to it raises: the tap's ending
    says so.
    """
    import anyio

    process = await _start(spec)
    child = _Child(process, tap)
    incoming, received = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
    outgoing, to_send = anyio.create_memory_object_stream["SessionMessage"](64)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child.run_reader, incoming)
            nursery.start_soon(child.run_writer, to_send)
            nursery.start_soon(child.run_watch, incoming.close)
            nursery.start_soon(child.run_stderr)
            try:
                yield ReadTap(received, tap), WriteTap(outgoing, tap)
            finally:
                with trio.move_on_after(STOP_S, shield=True):
                    await child.stop()
                nursery.cancel_scope.cancel()
    finally:
        for stream in (incoming, received, outgoing, to_send):
            stream.close()
        with trio.move_on_after(STOP_S, shield=True):
            await _close_pipes(process)


async def _start(spec: ServerSpec) -> trio.Process:
    if spec.recheck is not None and (refused := await spec.recheck()):
        raise ConnectFailed(refused)
    try:
        return await trio.lowlevel.open_process(
            list(spec.command),
            stdin=-1,
            stdout=-1,
            stderr=-1,
            cwd=spec.directory,
            env=dict(spec.environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConnectFailed(f"it cannot be started: {spec.command[0]}: {reason}") from None


async def _close_pipes(process: trio.Process) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            await stream.aclose()


class _Child:
    def __init__(self, process: trio.Process, tap: Tap) -> None:
        # It was started with three pipes.
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        self._process, self._tap = process, tap
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._read_all = trio.Event()
        self._last_words: deque[str] = deque(maxlen=3)

    async def run_reader(self, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Until its stdout ends. The process is then given a moment to say why by its exit."""
        import anyio
        from mcp.shared.message import SessionMessage

        lines = Lines(self._tap)
        # Closed by ourselves: the connection has ended already, and `incoming` with it.
        gone = (trio.ClosedResourceError, trio.BrokenResourceError)
        with suppress(*gone, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while (data := await self._stdout.receive_some(READ_BYTES)) and not self._tap.ending.event.is_set():
                for message in lines.feed(bytes(data)):
                    await incoming.send(SessionMessage(message))
        self._read_all.set()
        with trio.move_on_after(DRAIN_S):
            await self._process.wait()
        self._end("it closed its stdout")
        incoming.close()

    async def run_watch(self, close: Callable[[], None]) -> None:
        """A grandchild may hold the pipe open after the process is gone, so its exit is watched apart."""
        await self._process.wait()
        with trio.move_on_after(DRAIN_S):
            await self._read_all.wait()
        self._end("it ended")
        close()

    async def run_writer(self, to_send: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Alone at its stdin: no caller's deadline may cut a line in half."""
        async for item in to_send:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await self._stdin.send_all(text.encode("utf-8", "replace") + b"\n")
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                # Its exit, which usually comes with this, gives the better reason.
                with trio.move_on_after(DRAIN_S):
                    await self._process.wait()
                self._end("it closed its stdin")
                return

    async def run_stderr(self) -> None:
        """Drained always: a full pipe would stop the server."""
        over, rest = Flood(STDERR_LINES_PER_S, 1.0), b""
        with suppress(trio.ClosedResourceError, trio.BrokenResourceError):
            while data := await self._stderr.receive_some(READ_BYTES):
                *complete, rest = (rest + data).split(b"\n")
                rest = rest[:STDERR_LINE_BYTES]
                for line in complete:
                    self._take_stderr(line, over)

    def _take_stderr(self, line: bytes, over: Flood) -> None:
        text = line[:STDERR_LINE_BYTES].decode("utf-8", "replace").strip()
        if text:
            self._last_words.append(text)
            if not over.over():
                log.info("mcp_stderr", connection=self._tap.name, line=text)

    async def stop(self) -> None:
        await self._stdin.aclose()
        await group.stop(self._process)

    def _end(self, reason: str) -> None:
        status = self._process.returncode
        reason = reason if status is None else group.exit_text(status)
        words = f" (its last words: {plain(self._last_words[-1][:200])})" if self._last_words else ""
        self._tap.ending.end(reason + words)
