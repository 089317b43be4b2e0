"""`hookgate chat --once`: one question with what is piped to it, its answer, and a status for scripts."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext
from functools import partial

import trio

from hookgate import config as configuration
from hookgate.assembly.app import Runtime
from hookgate.assembly.journals import open_conversation_journal
from hookgate.assembly.logs.prompt_logs import PromptLogs
from hookgate.assembly.logs.sinks import observer
from hookgate.assembly.settings import Ports, Settings
from hookgate.channels.terminal.channel import NAME, Terminal
from hookgate.channels.terminal.dialogue import Console
from hookgate.channels.terminal.display.working import OBSERVED
from hookgate.channels.terminal.once import Once
from hookgate.channels.terminal.screen import OneRow, Plain, Screen, Write
from hookgate.channels.terminal.surface import TerminalSurface
from hookgate.cli.printing import complain, counted, stderr, write
from hookgate.cli.terminal.commands import slash_lines
from hookgate.cli.terminal.flags import Flags
from hookgate.cli.terminal.once.piped import asked
from hookgate.cli.terminal.person.pager import view
from hookgate.cli.terminal.person.pictures import picture
from hookgate.cli.terminal.person.seat import Seat, in_front, open_seat
from hookgate.cli.terminal.starting import open_chat
from hookgate.cli.terminal.talk import CHAT, show_diff
from hookgate.program.endings import DENIED, FAILED, INTERRUPTED, over_echo
from hookgate.program.signals import open_until_signal
from hookgate.protocol.chat import Inbound
from hookgate.protocol.dataclasses import dataclass, replace

CUT_OFF = "hookgate: it was interrupted before the end of the answer"
NOTHING = "hookgate: it was interrupted before an answer"


@dataclass
class _Run:
    """`reader`: the terminal, where stdout is one. `status`: what the question has come to before any answer."""

    channel: Once
    terminal: Terminal
    reader: Terminal | None
    status: int | None = None
    interrupted: bool = False
    denied: int = 0

    @property
    def line(self) -> Callable[[str], None]:
        """Takes what stands beside the answer; on a terminal it cuts neither that nor a question."""
        return self.terminal.beside if sys.stderr.isatty() else complain


async def run_once(settings: Settings, flags: Flags, text: str, logs: PromptLogs) -> int:
    """The exit status. Raises ConfigError and RequiredHookFailed before anything is asked."""
    with open_seat() as seat:
        run = _run(seat, flags)
        async with open_until_signal(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as came:
            question = Inbound(CHAT, await asked(text, complain))
            with logs.above(run.line) if sys.stderr.isatty() else nullcontext():
                await _ask(run, settings, flags, question)
        run.interrupted = bool(came)
        status = _told(run) if run.status is None else run.status
    if not (flags.fail_on_denial and run.denied) or status == INTERRUPTED:
        return status
    complain(f"hookgate: {counted(run.denied, 'call')} refused")
    return DENIED


def _run(seat: Seat | None, flags: Flags) -> _Run:
    reads = sys.stdout.isatty()
    here = seat or Seat(1 if reads else 2)
    screen, console = _screen(write if reads else here.write, here, seat), None
    if seat is not None:
        viewing = partial(view, screen=seat.descriptor)
        console = Console(screen.write, seat.ask, seat.redraw, seat.size, viewing)
    terminal = Terminal(screen, console, here.size)
    person, reader = (None if seat is None else terminal), (terminal if reads else None)
    channel = Once(terminal.beside if sys.stderr.isatty() else complain, person, reader, yes=flags.yes)
    return _Run(channel, terminal, reader)


def _screen(put: Write, here: Seat, seat: Seat | None) -> Screen:
    """With a sign of life where somebody sits and reads what this says."""
    reads = seat is not None and (sys.stdout.isatty() or sys.stderr.isatty())
    if not reads or configuration.terminal_type() == "dumb":
        return Plain(put)

    def draw(text: str) -> None:
        # Behind a shell it would be drawn over what is typed there.
        if in_front(here.descriptor):
            here.write(text)

    return OneRow(put, draw, lambda: here.size()[0])


@asynccontextmanager
async def _open_drawing(terminal: Terminal) -> AsyncGenerator[None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(terminal.run)
        try:
            yield
        finally:
            nursery.cancel_scope.cancel()
            terminal.screen.show("")


async def _ask(run: _Run, settings: Settings, flags: Flags, question: Inbound) -> None:
    surfaces = {run.channel.name: TerminalSurface(run.reader or Terminal(Plain(stderr), None), displays=False)}
    hear = partial(run.terminal.hear, brief=True)
    inside = (observer("terminal", OBSERVED, hear),) if run.terminal.screen.shows else ()
    run.channel.tells_refusals = not settings.config.agent.show_denials
    ports = Ports((run.channel,), surfaces, inside=inside, lists_calls=bool(inside))
    async with (
        open_conversation_journal(settings.config, NAME, flags.keep) as journal,
        open_chat(settings, flags, replace(ports, journal=journal), run.line, complain) as runtime,
    ):
        try:
            # It ends with its answer, so it begins with every tool that there will be.
            await runtime.tried()
            run.terminal.picture = partial(picture, runtime)
            await _answered(run, runtime, question)
        finally:
            run.denied = runtime.agent.tally.denied


async def _answered(run: _Run, runtime: Runtime, question: Inbound) -> None:
    commands = runtime.gateway.commands
    if unknown := slash_lines.unknown(commands, question):
        complain(unknown)
        run.status = FAILED
        return
    async with _open_drawing(run.terminal):
        if literal := slash_lines.literal(question.text):
            await runtime.gateway.submit(replace(question, text=literal))
        else:
            await runtime.gateway.receive(question)
        await runtime.gateway.idle(CHAT.session_key)
    await show_diff(runtime, stderr)
    if run.channel.silent and commands.read(question) is not None:
        run.status = 0


def _told(run: _Run) -> int:
    """What has not been read along."""
    channel, reader = run.channel, run.reader
    if channel.error is None and channel.answer is not None:
        if reader is None:
            write(channel.answer + "\n")
        return 0
    if reader is not None:
        reader.end_stream(CHAT)
    if channel.error is not None:
        complain(" ".join(channel.error.split()))
        return FAILED
    if channel.partial and reader is None:
        write(channel.partial.rstrip() + "\n")
    if not run.interrupted:
        complain("hookgate: it ended without an answer")
        return FAILED
    stderr(f"{over_echo()}{CUT_OFF if channel.partial else NOTHING}\n")
    return INTERRUPTED
