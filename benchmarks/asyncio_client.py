"""The bare client that many callers are compared with: asyncio streams, orjson, a future per call, nothing else."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import orjson

LINE_BYTES = 16 << 20


class Client:
    """One child, many calls in flight."""

    def __init__(self, process: Process) -> None:
        assert process.stdin
        assert process.stdout
        self._stdin, self._stdout = process.stdin, process.stdout
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        self._last_id += 1
        answer = self._waiting[self._last_id] = asyncio.get_running_loop().create_future()
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        self._stdin.write(orjson.dumps(message) + b"\n")
        await self._stdin.drain()
        return await answer

    async def run_reader(self) -> None:
        while line := await self._stdout.readline():
            message = orjson.loads(line)
            self._waiting.pop(message["id"]).set_result(message["result"])

    def close(self) -> None:
        self._stdin.close()


@asynccontextmanager
async def open_client(command: Sequence[str]) -> AsyncGenerator[Client]:
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=LINE_BYTES)
    client = Client(process)
    reader = asyncio.create_task(client.run_reader())
    try:
        yield client
    finally:
        client.close()
        await process.wait()
        await reader


class Clients:
    """Several children, asked from a loop of its own that stands still between two rounds."""

    def __init__(self, command: Sequence[str], children: int) -> None:
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._clients = [self._run(self._stack.enter_async_context(open_client(command))) for _ in range(children)]

    def ask(self, params: dict[str, Any], callers: int, calls: int) -> None:
        """Each of `callers` per child makes `calls`, one after the other. Blocks until all are answered."""
        self._run(self._ask(params, callers, calls))

    def close(self) -> None:
        self._run(self._stack.aclose())
        self._runner.close()

    def _run(self, work: Any) -> Any:
        return self._runner.run(work)

    async def _ask(self, params: dict[str, Any], callers: int, calls: int) -> None:
        async def caller(client: Client) -> None:
            for _ in range(calls):
                await client.call("hook.before_tool", params)

        await asyncio.gather(*(caller(client) for client in self._clients for _ in range(callers)))
