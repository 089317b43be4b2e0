"""What any program on trio and httpx would do in an iteration: the same requests, the hooks asked one by one.

It judges no answer, keeps nothing, tells no observer; it reads what it needs for the next request.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import httpx
import orjson
import trio

META = {
    "AgentID": "main",
    "TurnID": "main-turn-1",
    "ParentTurnID": "",
    "SessionKey": "bench:1",
    "Iteration": 0,
    "TracePath": "runTurn",
    "Source": "turn.llm.request",
}
CONTEXT = {"inbound": {"channel": "bench", "kind": "message", "chat_id": "1", "sender_id": "7"}}
Json = dict[str, Any]


class Child:
    """A hook, asked one question at a time."""

    def __init__(self, stdin: trio.lowlevel.FdStream, stdout: trio.lowlevel.FdStream) -> None:
        self._stdin, self._stdout, self._asked = stdin, stdout, 0

    async def ask(self, method: str, params: Json) -> Json:
        self._asked += 1
        members = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": {"meta": META, **params}}
        await self._stdin.send_all(orjson.dumps(members) + b"\n")
        data = b""
        while not data.endswith(b"\n"):
            data += await self._stdout.receive_some(1 << 16)
        return cast("Json", orjson.loads(data)["result"])


class Bare:
    """`first`, `last` let all pass; `owner` has brought the tool."""

    def __init__(self, client: httpx.AsyncClient, url: str, first: Child, owner: Child, last: Child) -> None:
        self._client, self._url = client, url
        self._first, self._owner, self._last = first, owner, last

    async def converse(self, body: Json) -> str:
        """Ask the model with `body`, run what it wants run, until it answers; the answer."""
        messages = cast("list[Json]", body["messages"])
        while True:
            asked = {"model": body["model"], "messages": messages, "tools": body["tools"], "options": {}}
            await self._first.ask("hook.before_llm", asked)
            changed = await self._owner.ask("hook.before_llm", asked)
            text, calls = await self._complete({**body, "tools": changed["request"]["tools"]})
            reply = {"role": "assistant", "content": text, "tool_calls": calls}
            await self._first.ask("hook.after_llm", {"model": body["model"], "response": reply})
            if not calls:
                return text
            messages.append(reply)
            for call in calls:
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": await self._run(call)})

    async def _run(self, call: Json) -> str:
        function = call["function"]
        arguments = orjson.loads(function["arguments"])
        where = {"channel": "bench", "chat_id": "1", "tool_call_id": call["id"], "context": CONTEXT}
        question = {"tool": function["name"], "arguments": arguments, **where}
        for hook in (self._first, self._last):
            await hook.ask("hook.before_tool", question)
        return cast("str", (await self._owner.ask("hook.before_tool", question))["result"]["for_llm"])

    async def _complete(self, body: Json) -> tuple[str, list[Json]]:
        text, calls = "", list[Json]()
        async with self._client.stream("POST", self._url, content=orjson.dumps(body)) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    delta = orjson.loads(line[6:])["choices"][0]["delta"]
                    text += delta.get("content", "")
                    calls += [
                        {"id": it["id"], "type": "function", "function": it["function"]}
                        for it in delta.get("tool_calls", ())
                    ]
        return text, calls


@asynccontextmanager
async def open_bare(url: str, commands: Sequence[Sequence[str]]) -> AsyncGenerator[Bare]:
    """`commands`: of the hook that lets pass, of the owner of the tool, and of the last one."""
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    async with AsyncExitStack() as stack:
        children = [await stack.enter_async_context(_open_child(command)) for command in commands]
        # A client of ours loads no trust store for loopback, so this one must not either.
        client = httpx.AsyncClient(headers=headers, timeout=None, trust_env=False, verify=False)
        yield Bare(await stack.enter_async_context(client), f"{url}chat/completions", *children)


@asynccontextmanager
async def _open_child(command: Sequence[str]) -> AsyncGenerator[Child]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:  # noqa: ASYNC220
        assert process.stdin
        assert process.stdout
        stdin, stdout = (trio.lowlevel.FdStream(os.dup(it.fileno())) for it in (process.stdin, process.stdout))
        async with stdin, stdout:
            yield Child(stdin, stdout)
        process.stdin.close()
