"""A turn while something of another session is stuck, beside the same turn while nothing is.

Both are whole gateways with a journal on the disk, in this process, since what is waited for is the event loop: who
holds that, or a lock, or a place, holds up everybody.
"""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter_ns

import trio
from trio.testing import wait_all_tasks_blocked

from benchmarks.bystanders import QUIET_S
from benchmarks.chatting import Mute, say
from benchmarks.figures import Bar, Figure, Pair, Run
from benchmarks.served.asking import COOKIE, Connection
from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.settings import Ports, Settings
from hookgate.channels.http.server import serve_http
from hookgate.protocol.approval import ApprovalRequest, Decide
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.values import JsonObject
from hookgate.providers.scripted import Script, ScriptedProvider
from hookgate.sections import Config
from hookgate.store.journal import open_journal

TURNS = 12
ANSWERS, ANSWER_BYTES = 30, 100_000
"""More than the kernel keeps for a browser that does not read."""
DEADLINE_S = 60.0
STILL_S = 0.3
SCRIPT: JsonObject = {
    "steps": [
        {"when": "^look", "calls": [{"name": "read", "arguments": {"path": "notes.txt"}}]},
        {"when": "^list", "calls": [{"name": "ls", "arguments": {"path": "."}}]},
        {"when": "^find", "calls": [{"name": "glob", "arguments": {"pattern": "*"}}]},
        {"when": "^hang", "text": "I begin", "hang": True},
        {"when": "^tell", "text": "x" * ANSWER_BYTES},
        {"when": ".", "on": "tool", "text": "It holds a word."},
    ]
}
SLEEPER = [sys.executable, "-IS", str(Path(__file__).with_name("slow_hook.py")), "1000"]
CONFIG = {
    "providers": {"scripted": {"kind": "scripted", "script": "none"}},
    "channels": {"web": {"kind": "web"}},
    "approvals": [{"tools": ["glob"]}],
}
MOST_MS = 50.0


class Deaf(Mute):
    """Takes no message to its end, and nobody there answers a question."""

    name = "deaf"

    async def send(self, outbound: Outbound, key: str) -> str:
        await trio.sleep_forever()
        return key

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        await trio.sleep_forever()


@dataclass(frozen=True)
class Place:
    """A gateway; `address` is its page's."""

    runtime: Runtime
    address: tuple[str, int]
    stack: AsyncExitStack


Stick = Callable[[Place, Run], Awaitable[None]]
"""Makes something of one session stuck; when this returns, it is."""


async def measure(run: Run) -> list[Figure]:
    figures: list[Figure] = []
    async with _open_place(run) as alone:
        await say(alone.runtime, "warm", "look")
        for name, stick in STUCK.items():
            pairs: list[Pair] = []
            async with _open_place(run) as beside:
                await say(beside.runtime, "warm", "look")
                await stick(beside, run)
                pairs.extend(
                    [await _pair(alone.runtime, beside.runtime, run.times(TURNS)) for _ in range(run.rounds)]
                )
            bar = Bar(f"what a stuck {name} adds to another session's turn", "the turn", "ms", MOST_MS, absolute=True)
            figures.append(bar.judged(pairs))
    return figures


async def _pair(alone: Runtime, beside: Runtime, turns: int) -> Pair:
    """The longest of the turns alone, and how much longer the longest beside something stuck took: milliseconds."""
    took: tuple[list[float], list[float]] = ([], [])
    for number in range(turns):
        for runtime, times in zip((alone, beside), took, strict=True):
            await wait_all_tasks_blocked(QUIET_S)
            began = perf_counter_ns()
            await say(runtime, f"{began}-{number}", "look")
            times.append((perf_counter_ns() - began) / 1e6)
    return max(took[0]), max(0.0, max(took[1]) - max(took[0]))


# --- what is stuck ------------------------------------------------------------------------------------------


async def _stick_by(text: str, place: Place, _run: Run) -> None:
    """What a person says there leads to it."""
    chat = Chat(Deaf.name, "stuck", "stuck")
    await place.runtime.gateway.receive(Inbound(chat, text))
    await trio.sleep(STILL_S)
    waiting = await place.runtime.journal.posting.next_row(chat)
    assert place.runtime.gateway.sessions[chat.session_key].busy or waiting, f"{text!r} came to its end"


async def _stick_browser(place: Place, run: Run) -> None:
    """It listens to a chat with long answers, and reads no more than the first piece."""
    with socket.socket() as listener:
        smallest = listener.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 32
    sock = trio.socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, smallest)
    await sock.connect(place.address)
    stream = await place.stack.enter_async_context(trio.SocketStream(sock))
    connection = Connection(stream, place.address)
    body = f'{{"token":"{place.runtime.pages["web"].token}"}}'.encode()
    _, head, _ = await connection.ask(connection.request("POST", "/api/login", body=body))
    cookie = COOKIE.search(head)
    assert cookie
    target = "/api/chats/stuck/events"
    await stream.send_all(connection.request("GET", target, f"cookie: {cookie[1].decode()}\r\n"))
    await stream.receive_some(1)
    chat = Chat("web", "owner", "owner", thread="stuck")
    with trio.fail_after(DEADLINE_S):
        for _ in range(run.times(ANSWERS)):
            await place.runtime.gateway.receive(Inbound(chat, "tell"))
            await place.runtime.gateway.idle(chat.session_key)


STUCK: dict[str, Stick] = {
    "channel": partial(_stick_by, "hello"),
    "hook": partial(_stick_by, "list"),
    "model": partial(_stick_by, "hang"),
    "approver": partial(_stick_by, "find"),
    "browser": _stick_browser,
}


@asynccontextmanager
async def _open_place(run: Run) -> AsyncGenerator[Place]:
    """With one hook that answers at every stage, and one that is asked before `ls` alone and never does."""
    before = ["before_llm", "after_llm", "before_tool", "after_tool"]
    hooks = {
        "normal": {"command": [str(run.echo)], "intercept": before, "required": True},
        "stuck": {
            "command": SLEEPER,
            "intercept": ["before_tool"],
            "match": {"tools": ["ls"]},
            "timeout_ms": 600_000,
        },
    }
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as name:
        folder = Path(name)
        await trio.Path(folder, "notes.txt").write_text("word\n")
        agent = {"model": "scripted/model", "workspace": name}
        config = Config.model_validate({**CONFIG, "agent": agent, "hooks": {"processes": hooks}})
        providers = {"scripted": ScriptedProvider(Script.parse(SCRIPT))}
        async with AsyncExitStack() as stack:
            journal = await stack.enter_async_context(open_journal(folder / "journal.db"))
            ports = Ports((Mute(), Deaf()), providers=providers, journal=journal)
            settings = Settings(config, folder, serving=True)
            runtime = await stack.enter_async_context(open_runtime(settings, ports))
            address = await stack.enter_async_context(_serving(runtime))
            yield Place(runtime, address, stack)


@asynccontextmanager
async def _serving(runtime: Runtime) -> AsyncGenerator[tuple[str, int]]:
    stop = trio.Event()

    async def serve(task_status: trio.TaskStatus[str]) -> None:
        await serve_http(runtime.pages["web"].app, "127.0.0.1:0", started=task_status.started, stop=stop)

    async with trio.open_nursery() as nursery:
        host, _, port = (await nursery.start(serve)).rpartition(":")
        yield host, int(port)
        stop.set()
