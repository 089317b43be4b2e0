"""`hookgate chat`: a conversation at the terminal, or one question with `--once`."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import TextIO

import trio

from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.journals import open_conversation_journal
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.logs.prompt_logs import PromptLogs
from hookgate.assembly.logs.sinks import event_file, open_event_file, trace, warnings
from hookgate.assembly.preflight.failing_open import open_guards
from hookgate.assembly.settings import Ports, Settings
from hookgate.assembly.tools.opening import keeping_of
from hookgate.channels.dialogue import WHOLE, Write
from hookgate.channels.panels import PanelView
from hookgate.channels.printable import printable
from hookgate.channels.surface import TerminalSurface
from hookgate.channels.terminal import NAME, Terminal
from hookgate.cli.printing import screen_size, write
from hookgate.cli.terminal import extension_lines
from hookgate.cli.terminal.commands import TerminalCommands
from hookgate.cli.terminal.flags import Flags
from hookgate.cli.terminal.help import at_the_prompt
from hookgate.cli.terminal.keyboard import Keyboard, open_keyboard
from hookgate.cli.terminal.pager import view
from hookgate.cli.terminal.pictures import picture
from hookgate.cli.terminal.printing import PROMPT, prompt_text, welcome
from hookgate.cli.terminal.prompt import Prompt
from hookgate.cli.terminal.recalling import recalled
from hookgate.cli.terminal.trust import introduce
from hookgate.cli.vouching import ask_about_changes
from hookgate.hooks.rules import Mount
from hookgate.operations.extensions import extension_problems
from hookgate.program.signals import open_until_signal
from hookgate.program.starting import begun
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import replace

CHAT = Chat(NAME, "terminal", sender="user")


async def run_chat(settings: Settings, flags: Flags) -> int:
    """The exit status. Raises ConfigError and RequiredHookFailed before anything is asked."""
    logs = PromptLogs()
    set_up_logs(settings.config.log, logs)
    if flags.once is not None:
        from hookgate.cli.terminal.once import run_once

        return await run_once(settings, flags, flags.once)
    return await _run_interactive(settings, flags, logs)


@asynccontextmanager
async def open_chat(
    settings: Settings, flags: Flags, ports: Ports, tracer: Callable[[str], None]
) -> AsyncGenerator[Runtime]:
    """A runtime with the sinks that the flags ask for and, if configured, its control socket."""
    async with AsyncExitStack() as stack:
        inside: list[Mount] = [trace(tracer)] if flags.trace else [warnings(tracer)]
        if flags.events:
            inside.append(event_file(stack.enter_context(open_event_file(flags.events))))
        runtime = await stack.enter_async_context(open_runtime(settings, replace(ports, inside=inside)))
        _report(runtime)
        if settings.config.control.enabled or flags.control:
            from hookgate.control.opening import open_gateway_control

            await stack.enter_async_context(open_gateway_control(runtime, flags.control))
        begun()
        yield runtime


def to_stderr(line: str) -> None:
    stderr(printable(line) + "\n")


def stderr(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


# --- interactive --------------------------------------------------------------------------------------------


async def _run_interactive(settings: Settings, flags: Flags, logs: PromptLogs) -> int:
    async with (
        open_until_signal(signal.SIGTERM, signal.SIGHUP),
        open_conversation_journal(settings.config, NAME, flags.keep) as journal,
        open_keyboard() as keyboard,
    ):
        terminal = seated(write, keyboard, piped=flags.yes_from_stdin)
        surface = TerminalSurface(terminal, PanelView(write, screen_size) if keyboard.person else None)
        if keyboard.person and (extensions := settings.extensions) is not None:
            await ask_about_changes(keeping_of(settings), terminal.put)
            found = await introduce(settings.config, extensions, terminal.put)
            settings = replace(settings, extensions=replace(extensions, found=found))
        ports = Ports((terminal,), {terminal.name: surface}, journal=journal)
        for line in await recalled(settings, journal, CHAT) if journal is not None else ():
            terminal.between(line)
        # A log that goes to a file goes on doing so.
        above = logs.above(terminal.between) if keyboard.person and sys.stderr.isatty() else nullcontext()
        with above:
            async with open_chat(settings, flags, ports, terminal.beside) as runtime:
                if runtime.skills is not None:
                    runtime.skills.tell = terminal.between if keyboard.person else to_stderr
                await converse(runtime, terminal, keyboard, surface)
    return 0


async def converse(
    runtime: Runtime, terminal: Terminal, keyboard: Keyboard, surface: TerminalSurface | None = None
) -> None:
    """Prompt, turn, prompt, until the person leaves."""
    prompt = Prompt(partial(prompt_text, runtime), keyboard, surface or TerminalSurface(terminal), runtime.extensions)
    terminal.picture = partial(picture, runtime)
    commands = runtime.gateway.commands
    keyboard.words = lambda: [f"/{it.name}" for it in at_the_prompt(commands, CHAT)]
    write(welcome(runtime))
    async with trio.open_nursery() as nursery:
        patience = _Patience(keyboard.person)
        put = terminal.put if keyboard.person else None
        own = TerminalCommands(runtime, terminal, put, lambda: _report(runtime), nursery.cancel_scope.cancel)
        commands.add(own.rows())
        nursery.start_soon(_warn_unconfined, runtime, terminal)
        await nursery.start(_run_interrupts, runtime, patience, nursery.cancel_scope)
        await _answered(runtime)
        with suppress(EOFError):
            while True:
                said = await prompt.next()
                patience.warned = not keyboard.person
                if said.typed:
                    await _say(runtime, terminal, said.text)
                else:
                    await _submit(runtime, said.text)
        nursery.cancel_scope.cancel()


async def _warn_unconfined(runtime: Runtime, terminal: Terminal) -> None:
    sandbox = await runtime.tools.sandbox.chosen()
    # Under Landlock a command can write what is kept from the file tools.
    if sandbox.kind != "bwrap":
        terminal.between(f"! {sandbox.note}")


class _Patience:
    """Whether the next Ctrl-C at the prompt leaves: a person is told first, a pipe is not."""

    def __init__(self, person: bool) -> None:
        self.warned = not person


async def _say(runtime: Runtime, terminal: Terminal, typed: str) -> None:
    message = Inbound(CHAT, typed)
    if not typed:
        return
    if unknown := extension_lines.unknown(runtime.gateway.commands, message):
        terminal.between(f"· {unknown}")
    elif literal := extension_lines.literal(typed):
        await _submit(runtime, literal)
    else:
        await runtime.gateway.receive(message)
        await _answered(runtime)


async def _submit(runtime: Runtime, text: str) -> None:
    """A message that is no command, whatever it begins with."""
    await runtime.gateway.submit(Inbound(CHAT, text))
    await _answered(runtime)


async def _answered(runtime: Runtime) -> None:
    await runtime.gateway.idle(CHAT.session_key)
    await show_diff(runtime, sys.stdout)


def _report(runtime: Runtime) -> None:
    for problem in (*open_guards(runtime), *extension_problems(runtime), *runtime.text_problems()):
        to_stderr(problem)


async def show_diff(runtime: Runtime, file: TextIO) -> None:
    """What the turn changed in the workspace, where `--diff` asks for it."""
    if runtime.tools.recorder is not None:
        file.write(await runtime.tools.recorder.take())
        file.flush()


async def _run_interrupts(
    runtime: Runtime, patience: _Patience, leave: trio.CancelScope, task_status: trio.TaskStatus[None]
) -> None:
    """Ctrl-C ends the turn; a second one while it ends, or two at the prompt, end the program."""
    with trio.open_signal_receiver(signal.SIGINT) as interrupts:
        task_status.started()
        async for _number in interrupts:
            if runtime.gateway.stop(CHAT.session_key):
                continue
            if patience.warned or _busy(runtime):
                leave.cancel()
                return
            patience.warned = True
            write(f"\n· Ctrl-C again or Ctrl-D to leave\n{PROMPT}")


def _busy(runtime: Runtime) -> bool:
    session = runtime.gateway.sessions.get(CHAT.session_key)
    return session is not None and session.busy


def seated(write: Write, keyboard: Keyboard, *, piped: bool = False) -> Terminal:
    """The terminal with whoever sits at the keyboard. `piped`: lines of what is no terminal answer questions too."""

    async def ask(prompt: str) -> str | None:
        try:
            return await keyboard.ask(prompt)
        except EOFError:
            return None

    def size() -> tuple[int, int]:
        columns, rows = screen_size()
        return columns, rows if keyboard.person else WHOLE

    asked = ask if keyboard.person or piped else None
    return Terminal(write, asked, lambda: keyboard.prompt, size, view if keyboard.person else None)
