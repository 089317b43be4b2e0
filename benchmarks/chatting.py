"""A whole gateway with a scripted model and a channel that nobody reads, and one turn of it."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.settings import Ports, Settings
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decide
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED
from hookgate.providers.scripted import Script, ScriptedProvider
from hookgate.sections import Config

CHANNEL = "bench"
TURN_S = 20.0
SCRIPT = {
    "steps": [
        {"when": "^look", "calls": [{"name": "read", "arguments": {"path": "notes.txt"}}]},
        {"when": ".", "on": "tool", "text": "It holds a word."},
    ]
}


class Mute:
    """A Channel that keeps the last message."""

    name = CHANNEL
    limits = UNLIMITED
    state = PRESENT

    def __init__(self) -> None:
        self.last: Outbound | None = None

    async def send(self, outbound: Outbound, key: str) -> str:
        self.last = outbound
        return ""

    def stream(self, chat: Chat, text: str) -> None:
        pass

    def end_stream(self, chat: Chat) -> None:
        pass

    def restart_stream(self, chat: Chat) -> None:
        pass

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        raise CannotAsk("nobody is here")


@asynccontextmanager
async def open_chatting(hooks: Mapping[str, Mapping[str, Any]]) -> AsyncGenerator[Runtime]:
    """`hooks` as in the configuration. The model reads one file when told to look, and else echoes."""
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as folder:
        await trio.Path(folder, "notes.txt").write_text("word\n")
        agent = {"model": "scripted/model", "workspace": folder}
        provider = {"scripted": {"kind": "scripted", "script": "none"}}
        config = Config.model_validate({"agent": agent, "providers": provider, "hooks": {"processes": hooks}})
        model = ScriptedProvider(Script.parse(SCRIPT))
        ports = Ports((Mute(),), providers={"scripted": model})
        async with open_runtime(Settings(config, Path(folder)), ports) as runtime:
            yield runtime


async def say(runtime: Runtime, chat_id: str, text: str) -> None:
    """One turn, to its end; it must be answered."""
    chat = Chat(CHANNEL, chat_id, "7")
    with trio.fail_after(TURN_S):
        await runtime.gateway.receive(Inbound(chat, text))
        await runtime.gateway.idle(chat.session_key)
    channel = runtime.ports.channels[0]
    assert isinstance(channel, Mute)
    assert channel.last is not None
    assert channel.last.kind == "answer", channel.last.text
