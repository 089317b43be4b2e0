"""A whole gateway in this process: real hook processes, a real endpoint on loopback, a chat that remembers."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from hookgate import config as configuration
from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.logs.sinks import EVERYTHING, observer
from hookgate.assembly.settings import Ports, Settings
from hookgate.protocol.chat import Inbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.values import Message
from tests.loop.recording import CHAT, Room
from tests.model_server import Answer, ModelServer, open_model_server

DEADLINE_S = 40.0
PLUGINS = Path(__file__).parents[2] / "plugins" / "python"
HEAD = """
[agent]
model = "p/m"
retry_first_ms = 1
workspace = "{folder}"
[providers.p]
kind = "openai"
base_url = "{url}"
[control]
enabled = false
"""


@dataclass
class Flow:
    runtime: Runtime
    room: Room
    server: ModelServer
    events: list[Event]

    async def say(self, text: str) -> list[str]:
        """What was sent in answer, of every kind."""
        before = len(self.room.sent)
        await self.runtime.gateway.receive(Inbound(CHAT, text))
        await self.runtime.gateway.idle(CHAT.session_key)
        return [outbound.text for outbound in self.room.sent[before:]]

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.runtime.gateway.sessions[CHAT.session_key].transcript.messages

    def results(self) -> list[str]:
        return [message.content for message in self.messages if message.role == "tool"]

    def named(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]


@asynccontextmanager
async def open_flow(folder: Path, config: str, answers: Sequence[Answer]) -> AsyncGenerator[Flow]:
    """`config` is added to HEAD; `folder` is workspace and base. In the end every call must be accounted for."""
    with trio.fail_after(DEADLINE_S):
        async with open_model_server(*answers) as server:
            text = HEAD.format(folder=folder, url=server.base_url) + config
            room, events = Room([]), list[Event]()
            parsed = configuration.parse(text, folder / "hookgate.toml")
            ports = Ports((room,), inside=(observer("watcher", EVERYTHING, events.append),))
            async with open_runtime(Settings(parsed, folder), ports) as runtime:
                yield Flow(runtime, room, server, events)
            assert runtime.agent.tally.balanced, runtime.agent.tally


def plugin(name: str, rest: str) -> str:
    """The section of one of the example plugins."""
    return f'[hooks.processes.{name}]\ncommand = ["{sys.executable}", "{PLUGINS / name}.py"]\n{rest}\n'


def child(name: str, file: Path, source: str, rest: str) -> str:
    """The section of a hook that a test writes itself."""
    file.write_text(source)
    return f'[hooks.processes.{name}]\ncommand = ["{sys.executable}", "{file}"]\n{rest}\n'
