"""`hookgate rpc` as a program between pipes: what is sent to it, what it writes, how it ends."""

from __future__ import annotations

import json
import signal
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import Any

import trio

from tests.cli.program import DEADLINE_S, environment
from tests.preloaded import preloaded
from tests.processes import until

Frame = dict[str, Any]
LAST_WORDS_S = 5.0


def scripted(folder: Path, *steps: Frame, more: str = "", **script: Any) -> Path:
    """A hookgate.toml whose model follows these steps."""
    (folder / "script.json").write_text(json.dumps({"steps": steps, **script}))
    (folder / "hookgate.toml").write_text(
        '[agent]\nmodel = "p/m"\nretry_first_ms = 1\n[providers.p]\nkind = "scripted"\nscript = "script.json"\n'
        f'[models."p/m"]\nprices = [1.0, 2.0]\n[models."p/other"]\ncontext_window = 1000\n{more}'
    )
    return folder


@dataclass
class Client:
    process: trio.Process
    stdin: trio.abc.SendStream
    stdout: trio.abc.ReceiveStream
    stderr: bytearray = field(default_factory=bytearray)
    heard: trio.Event = field(default_factory=trio.Event)
    """All of stderr."""
    _frames: deque[Frame] = field(default_factory=deque[Frame])
    _tail: bytes = b""

    async def send(self, type: str | None = None, **members: Any) -> None:
        await self.raw(json.dumps({**members, **({"type": type} if type else {})}).encode())

    async def raw(self, line: bytes) -> None:
        with trio.fail_after(DEADLINE_S):
            await self.stdin.send_all(line + b"\n")

    async def next(self) -> Frame:
        """The next frame; fails at the end of the stream."""
        with trio.fail_after(DEADLINE_S):
            while not self._frames:
                data = await self.stdout.receive_some(1 << 16)
                assert data, f"the stream has ended; stderr: {self.stderr.decode()}"
                *lines, self._tail = (self._tail + data).split(b"\n")
                self._frames.extend(json.loads(line) for line in lines)
        return self._frames.popleft()

    async def until(self, type: str) -> list[Frame]:
        """All frames up to the first of this type, that one included."""
        frames = [await self.next()]
        while frames[-1]["type"] != type:
            frames.append(await self.next())
        return frames

    async def done(self) -> list[Frame]:
        return await self.until("done")

    async def ask(self, type: str, **members: Any) -> Frame:
        """The command's response; other frames before it are dropped."""
        await self.send(type, **members)
        while (frame := await self.next())["type"] != "response":
            pass
        return frame

    async def ends(self, within: float = DEADLINE_S) -> int:
        """Close its stdin; the exit status."""
        await self.stdin.aclose()
        return await self.exits(within)

    async def exits(self, within: float = DEADLINE_S) -> int:
        with trio.fail_after(within):
            status = await self.process.wait()
        # Unless somebody it has left behind holds the pipe open.
        with trio.move_on_after(LAST_WORDS_S):
            await self.heard.wait()
        return status

    async def warned(self, text: str) -> str:
        """Stderr, once this stands there."""
        await until(lambda: text in self.stderr.decode())
        return self.stderr.decode()

    async def rest(self) -> list[Frame]:
        """Everything up to the end of the stream."""
        with trio.fail_after(DEADLINE_S):
            data = bytearray(self._tail)
            while more := await self.stdout.receive_some(1 << 16):
                data += more
        frames = [*self._frames, *(json.loads(line) for line in data.split(b"\n") if line)]
        self._frames.clear()
        return frames


@asynccontextmanager
async def open_rpc(
    folder: Path, *flags: str, command: Sequence[str] = (), env: dict[str, str] | None = None
) -> AsyncGenerator[Client]:
    """Killed in the end if it still runs. `command`: the one behind which the flags stand, if not a preloaded one."""
    process = await trio.lowlevel.open_process(
        [*(command or (*preloaded(), "rpc")), *flags],
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=folder,
        env={**environment(folder), **(env or {})},
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    client = Client(process, process.stdin, process.stdout)
    try:
        async with process.stdin, process.stdout, process.stderr, trio.open_nursery() as nursery:
            nursery.start_soon(_drain, process.stderr, client)
            yield client
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            await process.wait()


async def _drain(stream: trio.abc.ReceiveStream, client: Client) -> None:
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        async for data in stream:
            client.stderr += data
    client.heard.set()


def types(frames: Sequence[Frame]) -> list[str]:
    """What came, without the pieces: neighbours of one type count once."""
    names = [frame["type"] for frame in frames]
    return [name for number, name in enumerate(names) if number == 0 or name != names[number - 1]]


def one(frames: Sequence[Frame], type: str) -> Frame:
    (frame,) = (frame for frame in frames if frame["type"] == type)
    return frame
