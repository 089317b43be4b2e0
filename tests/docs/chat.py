"""The chat turn that the protocol page shows, played by the real loop, gate and process; knows no page.

The model is scripted and the tool answers a fixed text; the hook is whatever program the caller gives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import trio

from hookgate.approvals.requests import Approvals
from hookgate.approvals.surroundings import Surroundings
from hookgate.hooks.children.process import ProcessSpec, open_process
from hookgate.hooks.gate import Gate
from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.loop.agent import Agent
from hookgate.loop.delivery.delivery import Delivery
from hookgate.loop.delivery.outlet import Outlet
from hookgate.loop.sessions.transcript import Transcript
from hookgate.loop.slots import Slot
from hookgate.loop.turn import run_turn
from hookgate.loop.turn_state import Turn
from hookgate.processes.rounds import open_rounds
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decide
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED, ChannelPolicy
from hookgate.protocol.events.event import Event
from hookgate.protocol.hook.match import Observed
from hookgate.protocol.hook.stages import BEYOND_V1, Stage
from hookgate.protocol.journal.values import Conversation, Draft
from hookgate.protocol.values import Message, ToolCall, ToolResult, ToolSpec
from hookgate.providers.scripted import Script, ScriptedProvider
from hookgate.store.memory import MemoryJournal
from hookgate.tools.registry import Registry

DEADLINE_S = 20.0
NAME = "guard"
OBSERVES = ("turn_*", "tool_exec_*")
V1_STAGES = frozenset(Stage) - BEYOND_V1
INBOUND = Inbound(Chat("telegram", "90210", sender="7"), "What would a deploy do?", message_id="311")
SCRIPT = {
    "steps": [
        {"calls": [{"name": "bash", "arguments": {"command": "./deploy --dry-run"}, "id": "call_1"}]},
        {"text": "A deploy would change nothing."},
    ]
}


class Bash:
    """A tool that always prints the same."""

    spec = ToolSpec(
        "bash",
        "Run a shell command.",
        {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    )

    async def execute(self, call: ToolCall) -> ToolResult:
        await trio.lowlevel.checkpoint()
        return ToolResult("key sk-4711 accepted\nnothing to deploy")


class Telegram:
    """A chat that keeps what it is sent."""

    name = "telegram"
    limits = UNLIMITED
    state = PRESENT

    def __init__(self) -> None:
        self.sent: list[Outbound] = []

    async def send(self, outbound: Outbound, key: str) -> str:
        await trio.lowlevel.checkpoint()
        self.sent.append(outbound)
        return ""

    def stream(self, chat: Chat, text: str) -> None: ...

    def end_stream(self, chat: Chat) -> None: ...

    def restart_stream(self, chat: Chat) -> None: ...

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        raise CannotAsk


async def play(program: Path, hear: Callable[[Event], None]) -> tuple[list[str], list[Outbound]]:
    """One turn with `program` as the hook: the lines that the hook was sent, and what the chat saw."""
    seen, gate, channel = program.with_suffix(".lines"), Gate(), Telegram()
    with trio.fail_after(DEADLINE_S):
        async with open_rounds() as rounds, open_process(_spec(program, seen), rounds) as hook:
            watcher = Mount(InsideHook("watcher", hear=hear), Rules(observe=Observed(("*",)), inside=True))
            gate.mount([watcher, Mount(hook, Rules(V1_STAGES, Observed(OBSERVES)))])
            await _answer(_agent(gate), channel)
    return seen.read_text(encoding="utf-8").splitlines(), channel.sent


async def _answer(agent: Agent, channel: Telegram) -> None:
    journal = MemoryJournal()
    conversation = Conversation(INBOUND.chat.session_key, agent.name)
    transcript, claim = Transcript(journal.work, conversation), await journal.work.claim("test", 60, conversation)
    assert claim is not None
    await transcript.take(claim)
    await transcript.append(Draft(Message("user", INBOUND.text)))
    delivery = Delivery(journal.posting, {channel.name: channel})
    outlet = Outlet(channel, delivery, ChannelPolicy())
    async with Slot(trio.Semaphore(1)) as slot, trio.open_nursery() as nursery:
        nursery.start_soon(delivery.run)
        await run_turn(Turn(agent, outlet, transcript, INBOUND, "main-turn-1", journal, slot))
        nursery.cancel_scope.cancel()


def _spec(program: Path, seen: Path) -> ProcessSpec:
    """The hook reads through `tee`, so that the lines are those of a real pipe."""
    recorded = 'tee "$1" | exec "$2" "$3"'
    command = ("sh", "-c", recorded, "sh", str(seen), sys.executable, str(program))
    environment = {"PATH": "/usr/bin:/bin"}
    return ProcessSpec(NAME, command, str(program.parent), environment, V1_STAGES, observes=True)


def _agent(gate: Gate) -> Agent:
    registry = Registry()
    registry.register(Bash())
    return Agent(
        name="main",
        model="openai/gpt-5-mini",
        system="Keep it short.",
        providers={"openai": ScriptedProvider(Script.parse(SCRIPT))},
        gate=gate,
        registry=registry,
        approvals=Approvals((), MemoryJournal(), Surroundings(gate.events.emit)),
        options={"temperature": 0.2},
    )
