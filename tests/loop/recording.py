"""Doubles for the loop: a chat that remembers, tools and hooks made of functions, and a bench that joins them.

Everything that happens is one word in one log, so that a test can compare the whole order at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import trio

from hookgate.approvals.requests import Approvals
from hookgate.approvals.rules import Rule
from hookgate.approvals.surroundings import Surroundings
from hookgate.hooks.gate import Gate
from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.loop.agent import Agent, Retries
from hookgate.loop.doors.doors import Doors
from hookgate.loop.doors.guests import Guests
from hookgate.loop.gateway import Gateway
from hookgate.loop.places import Places
from hookgate.loop.sessions.transcript import Transcript
from hookgate.loop.slots import MAX_TURNS, Shared
from hookgate.protocol.approval import ApprovalRequest, Decide, Decision
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED, ChannelPolicy
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import Payload
from hookgate.protocol.hook.answers import CONTINUE, Answer, Approve
from hookgate.protocol.hook.match import Observed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.interfaces import Provider
from hookgate.protocol.journal.interfaces import Work
from hookgate.protocol.journal.values import Claim, Conversation, Draft
from hookgate.protocol.values import Access, LLMReply, LLMRequest, Message, ToolCall, ToolResult, ToolSpec
from hookgate.providers.scripted import Script, ScriptedCall, ScriptedProvider, ScriptStep
from hookgate.store.memory import MemoryJournal
from hookgate.tools.registry import Registry

DEADLINE_S = 20.0
CHAT = Chat("test", "1", sender="ann")
OTHER = Chat("test", "2", sender="bob")
OBJECT = {"type": "object"}
STEP_STAGES = tuple(it for it in Stage if it not in (Stage.ON_MESSAGE, Stage.BEFORE_SEND))
INTERCEPTORS = (Stage.BEFORE_LLM, Stage.AFTER_LLM, Stage.BEFORE_TOOL, Stage.AFTER_TOOL)

P = TypeVar("P", bound=Payload)
Run = Callable[[ToolCall], Awaitable[ToolResult | str]]
Judgement = Answer | Callable[[Question], Awaitable[Answer]]


class Room:
    """A channel. `broken`: kinds of messages that cannot be delivered. Without `answers` no person ever answers."""

    name = "test"
    limits = UNLIMITED
    state = PRESENT

    def __init__(self, log: list[str]) -> None:
        self.sent: list[Outbound] = []
        self.streamed = ""
        self.asked: list[ApprovalRequest] = []
        self.answers: list[Decision] = []
        self.broken: set[str] = set()
        self.asking = trio.Event()
        self._log = log

    async def send(self, outbound: Outbound, key: str) -> str:
        await trio.lowlevel.checkpoint()
        if outbound.kind in self.broken:
            raise OSError("the chat is gone")
        self._log.append(f"send {outbound.kind}")
        self.sent.append(outbound)
        return ""

    def stream(self, chat: Chat, text: str) -> None:
        self.streamed += text

    def end_stream(self, chat: Chat) -> None:
        self.streamed += "|"

    def restart_stream(self, chat: Chat) -> None:
        self.streamed += "<again>"

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        self._log.append(f"ask {request.call.name}")
        self.asked.append(request)
        self.asking.set()
        if not self.answers:
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()
        await decide(self.answers.pop(0))


@dataclass
class FunctionTool:
    """A tool; `seen` are the calls that really ran."""

    name: str
    run: Run | None = None
    reads_only: bool = False
    access: Access | None = None
    parameters: Mapping[str, Any] = field(default_factory=lambda: OBJECT)
    seen: list[ToolCall] = field(default_factory=list)

    @property
    def spec(self) -> ToolSpec:
        changes = not self.reads_only
        return ToolSpec(self.name, "", self.parameters, changes, changes, access=self.access)

    async def execute(self, call: ToolCall) -> ToolResult:
        self.seen.append(call)
        await trio.lowlevel.checkpoint()
        result = await self.run(call) if self.run else f"{self.name} ran"
        return ToolResult(result) if isinstance(result, str) else result


def hook(name: str, judgements: Mapping[Stage, Judgement], **rules: Any) -> Mount:
    """A hook that gives these answers, or asks these functions, at these stages."""
    judges = {stage: _judge(judgement) for stage, judgement in judgements.items()}
    return Mount(InsideHook(name, judges), Rules(stages=frozenset(judges), **rules))


def _judge(judgement: Judgement) -> Callable[[Question], Awaitable[Answer]]:
    if callable(judgement):
        return judgement

    async def constant(_question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return judgement

    return constant


def says(text: str) -> ScriptStep:
    return ScriptStep(text)


def asks_for(*wanted: ScriptedCall | str, text: str = "") -> ScriptStep:
    """A reply with these tool calls; a bare name is a call without arguments."""
    return ScriptStep(text, tuple(ScriptedCall(it, "{}") if isinstance(it, str) else it for it in wanted))


class Scripted(ScriptedProvider):
    """Notes each model call in the log."""

    def __init__(self, log: list[str], *steps: ScriptStep) -> None:
        super().__init__(Script(steps, echo=False))
        self._log = log
        self.asked = trio.Event()
        self.requests: list[LLMRequest] = []

    async def complete(self, request: LLMRequest, on_text: Callable[[str], None]) -> LLMReply:
        self._log.append("model")
        self.requests.append(request)
        self.asked.set()
        return await super().complete(request, on_text)


class Bench:
    """One agent on its gateway, and all that a test wants to look at afterwards."""

    def __init__(
        self, *steps: ScriptStep, tools: Sequence[FunctionTool] = (), hooks: Sequence[Mount] = (), **agent: Any
    ) -> None:
        self.log: list[str] = agent.pop("log", [])
        policy: ChannelPolicy = agent.pop("policy", ChannelPolicy())
        doors: Doors = agent.pop("doors", None) or Doors()
        guests: Guests | None = agent.pop("guests", None)
        max_turns: int = agent.pop("max_turns", MAX_TURNS)
        keyed: tuple[str, ...] = agent.pop("keyed", ())
        self.events: list[Event] = []
        self.room: Room = agent.pop("room", None) or Room(self.log)
        self.provider = Scripted(self.log, *steps)
        gate = Gate(frozenset({"p", "q"}))
        gate.mount([*hooks, _listener("watcher", self._hear)])
        rules: Sequence[Rule] = agent.pop("rules", ())
        providers: Mapping[str, Provider] = agent.pop("providers", {"p": self.provider})
        self.journal: MemoryJournal = agent.pop("journal", None) or MemoryJournal()
        approvals = Approvals(rules, self.journal, Surroundings(gate.events.emit, channels={"test": self.room}))
        usual = Agent("main", "p/m", "", providers, gate, _registry(tools), approvals, retries=Retries(2, 0.001, 0.5))
        self.agent = replace(usual, **agent)
        places = Places(max_turns)
        shared = Shared(self.journal, places, lambda _: policy, doors=doors, guests=guests, keyed=keyed)
        self.gateway = Gateway(lambda _chat: self.agent, {"test": self.room}, shared)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Bench]:
        """With the gateway running, and a deadline round everything."""
        with trio.fail_after(DEADLINE_S):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.gateway.run)
                yield self
                nursery.cancel_scope.cancel()

    async def play(self, *texts: str) -> list[str]:
        """A whole conversation: each text is said once the one before is answered. What was sent, without kinds."""
        async with self.opened():
            for text in texts or ("go",):
                await self.say(text)
                await self.idle()
        return self.lines

    async def say(self, text: str, chat: Chat = CHAT) -> None:
        """What is said about it at once is there when this returns."""
        await self.gateway.receive(Inbound(chat, text))
        await self.gateway.delivery.idle(chat.session_key)

    async def idle(self, chat: Chat = CHAT) -> None:
        await self.gateway.idle(chat.session_key)

    def messages(self, chat: Chat = CHAT) -> tuple[Message, ...]:
        return self.gateway.sessions[chat.session_key].transcript.messages

    def results(self, chat: Chat = CHAT) -> list[str]:
        """What the model was told of its tool calls."""
        return [message.content for message in self.messages(chat) if message.role == "tool"]

    @property
    def lines(self) -> list[str]:
        return [outbound.text for outbound in self.room.sent]

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def payloads(self, kind: type[P]) -> list[P]:
        return [event.payload for event in self.events if isinstance(event.payload, kind)]

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        self.log.append(event.kind)


def _listener(name: str, hear: Callable[[Event], None]) -> Mount:
    return Mount(InsideHook(name, hear=hear), Rules(observe=Observed(("*",)), inside=True))


def _registry(tools: Sequence[FunctionTool]) -> Registry:
    registry = Registry()
    for tool in tools:
        registry.register(tool)
    return registry


def logging_hook(log: list[str], stages: Iterable[Stage] = STEP_STAGES) -> Mount:
    """Stands at these stages, lets everything pass and notes it."""

    async def note(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        log.append(f"{question.stage} {question.tool}".strip())
        return Approve() if question.stage is Stage.APPROVE_TOOL else CONTINUE

    return hook("logger", dict.fromkeys(stages, note))


def is_valid(messages: Sequence[Message]) -> bool:
    """Whether an endpoint takes it: each call is followed, before anything else, by exactly one result."""
    waiting: set[str] = set()
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
            continue
        ids = [call.id for call in message.tool_calls]
        if waiting or len(set(ids)) != len(ids):
            return False
        waiting = set(ids)
    return not waiting


async def claimed(work: Work) -> Claim:
    """The right to write in one conversation, always the same."""
    claim = await work.claim("test", 60.0, Conversation(CHAT.session_key, "main"))
    assert claim is not None
    return claim


async def transcript_of(*messages: Message) -> Transcript:
    """What was said so far, and a claim that begins behind it."""
    work = MemoryJournal().work
    transcript = Transcript(work, Conversation(CHAT.session_key, "main"))
    await transcript.take(await claimed(work))
    if messages:
        await transcript.append(*map(Draft, messages))
        await transcript.end("answered")
        await transcript.take(await claimed(work))
    return transcript
