"""An ordinary editor written with the official client library: `official_editor.py PROGRAM ARGUMENT...` starts that
agent. It does what lines of JSON on stdin say and writes all that it hears to stdout. Knows nothing of hookgate."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from acp import RequestError, schema, spawn_agent_process
from acp.interfaces import Client

HANDED_ON = ("HOME", "PATH", "XDG_RUNTIME_DIR")


def tell(**members: Any) -> None:
    print(json.dumps(members), flush=True)


def plain(value: Any) -> Any:
    return None if value is None else value.model_dump(mode="json", by_alias=True, exclude_none=True)


class Editor(Client):
    def __init__(self) -> None:
        self.answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def session_update(self, session_id: str, update: Any, **_more: Any) -> None:
        tell(event="update", session=session_id, update=plain(update))

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_more: Any
    ) -> schema.RequestPermissionResponse:
        tell(event="asked", session=session_id, call=plain(tool_call), options=[plain(it) for it in options])
        answer = await self.answers.get()
        return schema.RequestPermissionResponse.model_validate({"outcome": answer})


async def do(agent: Any, what: str, given: dict[str, Any]) -> Any:
    match what:
        case "initialize":
            return await agent.initialize(given["version"])
        case "new":
            servers = [schema.McpServerStdio.model_validate(it) for it in given.get("servers", ())]
            return await agent.new_session(cwd=given["cwd"], mcp_servers=servers)
        case "load":
            return await agent.load_session(cwd=given["cwd"], session_id=given["session"], mcp_servers=[])
        case "list":
            return await agent.list_sessions(cwd=given.get("cwd"))
        case "prompt":
            blocks = schema.PromptRequest.model_validate({"sessionId": given["session"], "prompt": given["prompt"]})
            return await agent.prompt(session_id=given["session"], prompt=blocks.prompt)
        case "mode":
            return await agent.set_session_mode(session_id=given["session"], mode_id=given["mode"])
        case "close":
            return await agent.close_session(session_id=given["session"])
        case _:
            return await agent.cancel(session_id=given["session"])


async def done(agent: Any, number: int, what: str, given: dict[str, Any]) -> None:
    try:
        tell(event="done", number=number, result=plain(await do(agent, what, given)))
    except RequestError as error:
        tell(event="done", number=number, error={"code": error.code, "message": str(error)})


async def main() -> None:
    editor, tasks = Editor(), set[asyncio.Task[None]]()
    env = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
    loop, lines = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    options = {"transport_kwargs": {"stderr": None}}
    async with spawn_agent_process(editor, *sys.argv[1:], env=env, **options) as (agent, process):
        tell(event="started", pid=process.pid)
        while line := await lines.readline():
            given = json.loads(line)
            if given["do"] == "answer":
                editor.answers.put_nowait(given["outcome"])
                continue
            task = asyncio.create_task(done(agent, given["number"], given["do"], given))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        for task in tuple(tasks):
            task.cancel()
    tell(event="ended", status=process.returncode)


asyncio.run(main())
