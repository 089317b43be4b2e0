"""A whole gateway around tools of a test's own: what was asked, run and told, and that in the end it all adds up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import trio

from hookgate import config as configuration
from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.logs.sinks import EVERYTHING, observer
from hookgate.assembly.settings import Ports, Settings
from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import INSIDE
from hookgate.protocol.events.payloads import Payload, ToolExecEnd, ToolExecSkipped, ToolExecStart
from hookgate.protocol.hook.answers import CONTINUE, Answer, Approve
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import Access, Finished, Message, ToolCall, ToolPreference, ToolResult, ToolSpec
from hookgate.tools.lease import Held
from tests.flow.gateway import HEAD
from tests.loop.recording import CHAT, DEADLINE_S, Room, is_valid
from tests.model_server import Answer as Reply
from tests.model_server import ModelServer, open_model_server

ANY_OBJECT: Mapping[str, Any] = {"type": "object"}
P = TypeVar("P", bound=Payload)


@dataclass
class Made:
    """A tool made of a function of the call; `seen` are the calls that really ran."""

    name: str
    run: Callable[[ToolCall], Awaitable[ToolResult | str]] | None = None
    reads: bool = False
    access: Access | None = None
    pure: bool = False
    parameters: Mapping[str, Any] = field(default_factory=lambda: ANY_OBJECT)
    provider: str = "made"
    preference: ToolPreference = field(default_factory=ToolPreference)
    seen: list[ToolCall] = field(default_factory=list)

    @property
    def spec(self) -> ToolSpec:
        spec = ToolSpec(
            self.name, f"The tool {self.name}.", self.parameters, provider=self.provider, access=self.access
        )
        changes = not self.reads
        return replace(spec, mutates=changes, affects_workspace=changes, pure=self.pure, preference=self.preference)

    async def execute(self, call: ToolCall) -> ToolResult:
        self.seen.append(call)
        await trio.lowlevel.checkpoint()
        result = await self.run(call) if self.run else f"{self.name} ran"
        return ToolResult(result) if isinstance(result, str) else result


class Named(Room):
    """A chat of another name."""

    def __init__(self, name: str) -> None:
        super().__init__([])
        self.name = name


@dataclass
class Rig:
    """`questions` are the params of every stage call, as a process would get them."""

    runtime: Runtime
    room: Room
    server: ModelServer
    events: list[Event]
    questions: list[tuple[Stage, bytes]]

    async def say(self, text: str, chat: Chat = CHAT) -> list[str]:
        """What was sent in answer, of every kind."""
        before = len(self.room.sent)
        await self.runtime.gateway.receive(Inbound(chat, text))
        await self.runtime.gateway.idle(chat.session_key)
        return [outbound.text for outbound in self.room.sent[before:]]

    def messages(self, chat: Chat = CHAT) -> tuple[Message, ...]:
        return self.runtime.gateway.sessions[chat.session_key].transcript.messages

    def results(self, chat: Chat = CHAT) -> list[str]:
        return [message.content for message in self.messages(chat) if message.role == "tool"]

    def payloads(self, kind: type[P]) -> list[P]:
        return [event.payload for event in self.events if isinstance(event.payload, kind)]

    def asked(self, stage: Stage) -> list[bytes]:
        return [params for asked, params in self.questions if asked is stage]

    def offered(self, request: int = -1) -> list[str]:
        """The names of the tools that a request to the model shipped."""
        return [tool["function"]["name"] for tool in self.server.requests[request].body.get("tools", ())]

    def add(self, *tools: Tool) -> None:
        for tool in tools:
            self.runtime.tools.registry.register(tool)


@asynccontextmanager
async def open_rig(folder: Path, replies: Sequence[Reply], config: str = "", **parts: Any) -> AsyncGenerator[Rig]:
    """`parts`: `tools`, `hooks` (mounts in this process), `secrets`, `rooms` besides the usual one, `room` in its
    place, `agent` (lines of that section), `providers` in place of the endpoint. Leaving asserts what must hold
    after any turn."""
    with trio.fail_after(parts.get("deadline_s", DEADLINE_S)):
        async with open_model_server(*replies) as server:
            rig = await _parts(folder, server, config, parts)
            settings, ports, room, events, questions = rig
            async with open_runtime(settings, ports) as runtime:
                made = Rig(runtime, room, server, events, questions)
                made.add(*parts.get("tools", ()))
                yield made
                await settled(made)


async def _parts(
    folder: Path, server: ModelServer, config: str, parts: Mapping[str, Any]
) -> tuple[Settings, Ports, Room, list[Event], list[tuple[Stage, bytes]]]:
    head = HEAD.format(folder=folder, url=server.base_url)
    text = head.replace("[agent]\n", f"[agent]\n{parts.get('agent', '')}\n") + config
    parsed = configuration.parse(text, folder / "hookgate.toml")
    room = cast("Room", parts.get("room")) or Room([])
    events, questions = list[Event](), list[tuple[Stage, bytes]]()
    names = (*EVERYTHING, *(kind.kind for kind in INSIDE))
    mounts = (observer("watcher", names, events.append), _listening(questions), *parts.get("hooks", ()))
    keys = {f"nobody's-{number}": secret for number, secret in enumerate(parts.get("secrets", ()))}
    ports = Ports((room, *parts.get("rooms", ())), inside=mounts, providers=parts.get("providers", {}))
    return Settings(parsed, folder, keys=keys), ports, room, events, questions


def _listening(questions: list[tuple[Stage, bytes]]) -> Mount:
    """Stands behind every guard of this process, lets everything pass and keeps what it was asked."""

    async def keep(question: Question) -> Answer:
        questions.append((question.stage, question.params))
        return Approve() if question.stage is Stage.APPROVE_TOOL else CONTINUE

    rules = Rules(stages=frozenset(Stage), priority=1_000_000, may_modify=frozenset())
    return Mount(InsideHook("listener", dict.fromkeys(Stage, keep)), rules)


async def settled(rig: Rig) -> None:
    """Whatever has happened: nothing is lost, held or kept, and every conversation is one that an endpoint takes."""
    tally, around = rig.runtime.agent.tally, rig.runtime.agent.around
    assert tally.balanced, tally
    for session in rig.runtime.gateway.sessions.values():
        assert is_valid(session.transcript.messages)
        assert all(message.content for message in session.transcript.messages if message.role == "tool")
    assert around.memo is None or around.memo.used == 0
    with trio.fail_after(20):
        async with Held(around.lease, "write", "a test"):
            pass


def endings(rig: Rig) -> dict[str, tuple[int, int, int]]:
    """By call id: how often it started, ended, and was skipped."""
    counted: dict[str, list[int]] = {}
    for event in rig.events:
        for place, kind in enumerate((ToolExecStart, ToolExecEnd, ToolExecSkipped)):
            if isinstance(event.payload, kind):
                counted.setdefault(event.payload.ToolCallID, [0, 0, 0])[place] += 1
    return {call_id: (one[0], one[1], one[2]) for call_id, one in counted.items()}


RAN, SKIPPED = (1, 1, 0), (0, 0, 1)


def called(question: Question) -> ToolCall:
    """The call that a question is about."""
    subject = question.subject
    return subject.call if isinstance(subject, Finished) else cast("ToolCall", subject)


def everything_sent(room: Room) -> str:
    """All that a chat has read, streamed text and approval questions included."""
    asked = [f"{it.title} {it.text} {it.call.name} {dict(it.call.arguments)}" for it in room.asked]
    sent: list[str] = [_written(outbound) for outbound in room.sent]
    return "\n".join([*sent, room.streamed, *asked])


def _written(outbound: Outbound) -> str:
    return f"{outbound.text} {' '.join(outbound.media)}"
