"""Editors that have hookgate as their agent: one by the official client library, one that writes lines by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.cli.program import DEADLINE_S, environment
from tests.cli.rpc_client import Client, open_rpc
from tests.preloaded import preloaded

Frame = dict[str, Any]
PYTHON = Path(sys.prefix) / "acp" / "bin" / "python"
PROGRAM = Path(__file__).with_name("official_editor.py")


def skip_without_library() -> None:
    if not PYTHON.exists():
        pytest.skip("the client library is not installed: make .venv/.acp")


def scripted(home: Path, *steps: Frame, more: str = "", **script: Any) -> Path:
    """A home with a hookgate.toml whose model follows these steps, and a folder to work in, which this is."""
    (home / "script.json").write_text(json.dumps({"steps": steps, **script}))
    (home / "hookgate.toml").write_text(
        '[agent]\nmodel = "p/m"\nretry_first_ms = 1\n[providers.p]\nkind = "scripted"\nscript = "script.json"\n'
        f'[models."p/m"]\ncontext_window = 10000\nprices = [1.0, 2.0]\n{more}'
    )
    folder = home / "work"
    folder.mkdir(exist_ok=True)
    return folder


@dataclass
class Editor:
    """Everything that the official editor has heard; `wait` takes it from there."""

    process: trio.Process
    heard: list[Frame] = field(default_factory=list[Frame])
    _number: int = 0
    _grown: trio.Event = field(default_factory=trio.Event)

    async def run(self) -> None:
        assert self.process.stdout
        tail = b""
        async for data in self.process.stdout:
            *lines, tail = (tail + data).split(b"\n")
            self.heard.extend(map(json.loads, lines))
            self._grown.set()

    async def wait(self, what: Callable[[Frame], bool]) -> Frame:
        """The first of all that was heard which is this."""
        with trio.move_on_after(DEADLINE_S):
            while True:
                for it in self.heard:
                    if what(it):
                        return it
                self._grown = trio.Event()
                await self._grown.wait()
        raise AssertionError(f"it was not heard, only: {json.dumps(self.heard, indent=1)}")

    async def say(self, do: str, **given: Any) -> int:
        assert self.process.stdin
        self._number += 1
        await self.process.stdin.send_all(json.dumps({"do": do, "number": self._number, **given}).encode() + b"\n")
        return self._number

    async def done(self, number: int) -> Frame:
        return await self.wait(lambda it: it.get("number") == number)

    async def do(self, do: str, **given: Any) -> Frame:
        """The result."""
        done = await self.done(await self.say(do, **given))
        assert "error" not in done, done
        return done["result"]

    async def new(self, folder: Path) -> str:
        return (await self.do("new", cwd=str(folder)))["sessionId"]

    async def begin(self, session: str, text: str) -> int:
        return await self.say("prompt", session=session, prompt=[{"type": "text", "text": text}])

    async def prompt(self, session: str, text: str) -> str:
        """The stop reason."""
        return (await self.done(await self.begin(session, text)))["result"]["stopReason"]

    async def asked(self, session: str) -> Frame:
        """A question that has not been answered; taken from what was heard."""
        asked = await self.wait(lambda it: it["event"] == "asked" and it["session"] == session)
        self.heard.remove(asked)
        return asked

    async def choose(self, option: str) -> None:
        await self.say("answer", outcome={"outcome": "selected", "optionId": option})

    def updates(self, session: str) -> list[Frame]:
        return [it["update"] for it in self.heard if it["event"] == "update" and it["session"] == session]

    def text(self, session: str, kind: str = "agent_message_chunk") -> str:
        """Of all messages of this kind, one after the other."""
        return "".join(it["content"].get("text", "") for it in self.updates(session) if it["sessionUpdate"] == kind)

    def call(self, session: str, number: int = 0) -> Frame:
        """What the editor shows of this call of a session: what was told last of each member."""
        calls = dict[str, Frame]()
        for it in self.updates(session):
            if it["sessionUpdate"].startswith("tool_call"):
                shown = calls.setdefault(it["toolCallId"], {})
                shown.update({name: value for name, value in it.items() if name != "sessionUpdate"})
        return list(calls.values())[number]


@asynccontextmanager
async def open_editor(home: Path) -> AsyncGenerator[Editor]:
    """The official one, initialized; hookgate has ended in order when it is left."""
    command = [*preloaded(), "acp", "--config", str(home / "hookgate.toml")]
    process = await trio.lowlevel.open_process(
        [str(PYTHON), str(PROGRAM), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=home,
        env=environment(home),
    )
    assert process.stdin
    editor = Editor(process)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(editor.run)
            assert (await editor.do("initialize", version=1))["protocolVersion"] == 1
            yield editor
            await process.stdin.aclose()
            ended = await editor.wait(lambda it: it["event"] == "ended")
            assert ended["status"] == 0
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            process.kill()
            await process.wait()


@dataclass
class Pipe:
    """One that writes what it likes."""

    client: Client
    heard: deque[Frame] = field(default_factory=deque[Frame])
    _id: int = 0

    async def call(self, method: str, **params: Any) -> int:
        self._id += 1
        await self.send(id=self._id, method=method, params=params)
        return self._id

    async def send(self, **members: Any) -> None:
        await self.client.send(jsonrpc="2.0", **members)

    async def answer(self, id: int | None) -> Frame:
        """To this call; what comes before it is left out."""
        while (frame := await self.client.next()).get("id") != id or "method" in frame:
            pass
        return frame

    async def ask(self, method: str, **params: Any) -> Frame:
        return await self.answer(await self.call(method, **params))

    async def until(self, method: str) -> Frame:
        while (frame := await self.client.next()).get("method") != method:
            pass
        return frame

    async def new(self, folder: Path) -> str:
        return (await self.ask("session/new", cwd=str(folder), mcpServers=[]))["result"]["sessionId"]

    async def prompt(self, session: str, text: str) -> int:
        return await self.call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])


@asynccontextmanager
async def open_pipe(home: Path, *, greets: bool = True, command: tuple[str, ...] = ()) -> AsyncGenerator[Pipe]:
    words = command or (*preloaded(), "acp")
    async with open_rpc(home, "--config", str(home / "hookgate.toml"), command=words) as client:
        pipe = Pipe(client)
        if greets:
            assert (await pipe.ask("initialize", protocolVersion=1))["result"]["protocolVersion"] == 1
        yield pipe
