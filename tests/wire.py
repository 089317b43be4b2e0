"""A hook process as a test sees it: starts a real child and speaks JSON-RPC lines with it, by hand.

It knows nothing of hookgate's own peer, so that a mistake there cannot hide the same mistake here.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from subprocess import PIPE
from typing import Any

import trio

DEADLINE_S = 20.0
"""For each wait; generous because a busy machine starts an interpreter slowly."""
LAST_WORDS_S = 5.0


class ErrorReply(Exception):
    """The child answered a call with a JSON-RPC error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]


@dataclass
class Child:
    """One child. `read_message` and `call` share its stdout: one task reads at a time."""

    process: trio.Process
    _stderr: bytearray = field(default_factory=bytearray)
    _received: bytearray = field(default_factory=bytearray)
    _early: dict[object, dict[str, Any]] = field(default_factory=dict)
    _last_id: int = 0
    _grown: trio.Event = field(default_factory=trio.Event)
    _heard: trio.Event = field(default_factory=trio.Event)

    @property
    def stderr(self) -> str:
        """What the child wrote to stderr so far."""
        return self._stderr.decode(errors="replace")

    async def send_raw(self, data: bytes) -> None:
        assert self.process.stdin
        with trio.fail_after(DEADLINE_S):
            await self.process.stdin.send_all(data)

    async def send(self, method: str, params: Mapping[str, Any], **members: object) -> None:
        """One message: a request with `id=...`, else a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params, **members}
        await self.send_raw(json.dumps(message).encode() + b"\n")

    async def read_line(self) -> bytes:
        """The next line of stdout without its LF; `b""` at the end."""
        assert self.process.stdout
        start = 0
        with trio.fail_after(DEADLINE_S):
            while (end := self._received.find(b"\n", start)) < 0:
                start = len(self._received)
                chunk = await self.process.stdout.receive_some(1 << 16)
                if not chunk:
                    return b""
                self._received += chunk
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    async def read_message(self) -> dict[str, Any]:
        """The next line, which must be a JSON object; EOFError at the end."""
        line = await self.read_line()
        if not line:
            raise EOFError(f"the child closed stdout; its stderr: {self.stderr}")
        return json.loads(line)

    async def reply_to(self, call_id: object) -> Any:
        """The result of the call with this id; replies to others are kept for them. Raises ErrorReply."""
        while call_id not in self._early:
            message = await self.read_message()
            self._early[message["id"]] = message
        message = self._early.pop(call_id)
        if "error" in message:
            raise ErrorReply(message["error"])
        return message["result"]

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request and wait for its result. Raises ErrorReply."""
        self._last_id += 1
        await self.send(method, params, id=self._last_id)
        return await self.reply_to(self._last_id)

    async def close_stdin(self) -> None:
        assert self.process.stdin
        await self.process.stdin.aclose()

    async def wait_exit(self, timeout_s: float = DEADLINE_S) -> int:
        """The exit code; by then all that it wrote to stderr is here."""
        with trio.fail_after(timeout_s):
            status = await self.process.wait()
        # Unless somebody it has left behind holds the pipe open.
        with trio.move_on_after(LAST_WORDS_S):
            await self._heard.wait()
        return status

    async def wait_stderr(self, text: str) -> None:
        """Until stderr holds this text."""
        with trio.fail_after(DEADLINE_S):
            while text not in self.stderr:
                self._grown = trio.Event()
                await self._grown.wait()

    async def run_stderr(self) -> None:
        assert self.process.stderr
        async for chunk in self.process.stderr:
            self._stderr += chunk
            self._grown.set()
        self._heard.set()


@asynccontextmanager
async def open_child(
    argv: Sequence[str | os.PathLike[str]], env: Mapping[str, str] | None = None
) -> AsyncGenerator[Child]:
    """Start `argv` with `env` added to this environment; kill and reap it at the end if it still runs."""
    environment = {**os.environ, **(env or {})}
    process = await trio.lowlevel.open_process([*argv], stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment)
    child = Child(process)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child.run_stderr)
            yield child
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await _end(process)


async def _end(process: trio.Process) -> None:
    if process.poll() is None:
        process.kill()
    await process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            await stream.aclose()
