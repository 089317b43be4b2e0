"""`hookgate tools call`: one call through every hook and approval, and what a model would be told of it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from hookgate.assembly.app import Runtime
from hookgate.assembly.logs.sinks import trace
from hookgate.channels.printable import printable
from hookgate.channels.terminal.channel import Terminal
from hookgate.channels.terminal.dialogue import Console
from hookgate.channels.terminal.once import Once
from hookgate.channels.terminal.screen import Plain
from hookgate.cli.printing import complain, write
from hookgate.cli.terminal.person.pager import view
from hookgate.cli.terminal.person.pictures import picture
from hookgate.cli.terminal.person.seat import open_seat
from hookgate.cli.tools.started import open_without_model
from hookgate.loop.calls.batch import Batch, Settled
from hookgate.loop.calls.calls import run_calls
from hookgate.loop.sessions.claims import open_claim
from hookgate.operations.tools import declared_specs
from hookgate.program.signals import open_until_signal
from hookgate.program.starting import begun
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import TurnAborted
from hookgate.protocol.journal.audit import CallAudit
from hookgate.protocol.journal.values import Conversation
from hookgate.protocol.values import LLMRequest, Message, ProposedCall, Step, ToolResult
from hookgate.tools.decode import read_calls
from hookgate.tools.registry import Snapshot

TEXT = "hookgate tools call"


@dataclass(frozen=True)
class CallFlags:
    """What the command line said; `arguments` is text as a model would write it."""

    name: str
    arguments: str
    config_file: Path | None = None
    ext: tuple[Path, ...] = ()
    trace: bool = False
    channel: str = "cli"
    chat: str = "terminal"
    sender: str = "user"
    yes: bool = False


class _Asker(Once):
    """The chat of the call: what is said in it goes to stderr, questions to whoever sits there."""

    def __init__(self, name: str, person: Terminal | None, *, yes: bool) -> None:
        super().__init__(person=person, yes=yes)
        self.name = name

    async def send(self, outbound: Outbound, key: str) -> str:
        for line in (outbound.text, *outbound.media):
            if line.strip():
                complain(f"{outbound.kind}: {line}")
        return ""


async def call_tool(flags: CallFlags) -> int:
    """1 where the result is an error, or a hook aborted. stdout is what a model would be told, nothing else.

    Raises ConfigError and RequiredHookFailed.
    """
    inside = [trace(complain)] if flags.trace else []
    results: list[ToolResult] = []
    with _open_asker(flags) as asker:
        async with (
            open_until_signal(signal.SIGINT, signal.SIGTERM, signal.SIGHUP),
            open_without_model(flags.config_file, asker, inside, flags.ext, looking=False) as runtime,
        ):
            begun()
            if asker.person is not None:
                asker.person.picture = partial(picture, runtime)
            try:
                await _call(runtime, flags, results)
            except TurnAborted as error:
                return _failed(str(error))
    return _told(results)


@contextmanager
def _open_asker(flags: CallFlags) -> Generator[_Asker]:
    with open_seat() as seat:
        if seat is None:
            yield _Asker(flags.channel, None, yes=flags.yes)
            return
        viewing = partial(view, screen=seat.descriptor)
        console = Console(seat.write, seat.ask, seat.redraw, seat.size, viewing)
        person = Terminal(Plain(seat.write), console, seat.size)
        yield _Asker(flags.channel, person, yes=flags.yes)


async def _call(runtime: Runtime, flags: CallFlags, results: list[ToolResult]) -> None:
    agent = runtime.agent
    snapshot = agent.selection.of(agent.registry.snapshot(), flags.channel)
    chat = Chat(flags.channel, flags.chat, flags.sender)
    step = agent.step("tools-call", Inbound(chat, TEXT))
    request = await _effective(runtime, step, snapshot, flags.name)
    proposed = ProposedCall("call_1", flags.name, flags.arguments)

    async def record(_id: str, final: Settled, audit: CallAudit) -> None:
        results.append(final.result)
        await runtime.journal.work.append(claim, (), final.outbox, (audit,))
        await runtime.gateway.delivery.flush(chat)

    async with open_claim(runtime.journal.work, Conversation(chat.session_key, agent.name)) as claim:
        batch = Batch(agent, runtime.gateway.outlet(chat), claim, step, request, snapshot, runtime.journal)
        await run_calls(batch, read_calls([proposed], cut=False), record)


async def _effective(runtime: Runtime, step: Step, snapshot: Snapshot, name: str) -> LLMRequest:
    """What may be called. Only for a name that nobody has registered or declared are the hooks asked what they would
    add to a model call."""
    agent = runtime.agent
    messages, fits = (Message("user", TEXT),), agent.selection.fits(step.chat.channel)
    tools = (*snapshot.specs, *filter(fits, declared_specs(runtime, step)))
    request = LLMRequest(agent.model, messages, tools, agent.options)
    return request if request.tool(name) else await agent.gate.before_llm(step, request, fits)


def _told(results: Sequence[ToolResult]) -> int:
    if not results:
        return _failed("it was interrupted before a result")
    [result] = results
    write((printable(result.for_llm) if sys.stdout.isatty() else result.for_llm).rstrip("\n") + "\n")
    return 1 if result.is_error else 0


def _failed(line: str) -> int:
    complain(" ".join(line.split()))
    return 1
