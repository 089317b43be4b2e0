"""`hookgate chat`: a conversation at the terminal, or one question with `--once`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from functools import partial

import trio

from hookgate.assembly.app import Runtime
from hookgate.assembly.journals import open_conversation_journal
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.logs.prompt_logs import PromptLogs
from hookgate.assembly.logs.sinks import observer
from hookgate.assembly.settings import Ports, Settings
from hookgate.assembly.tools.opening import keeping_of
from hookgate.channels.terminal.channel import NAME, Terminal
from hookgate.channels.terminal.display.working import OBSERVED
from hookgate.channels.terminal.screen import Write
from hookgate.channels.terminal.surface import TerminalSurface
from hookgate.cli.config.vouching import ask_about_changes
from hookgate.cli.printing import complain
from hookgate.cli.terminal.early import open_early, over
from hookgate.cli.terminal.flags import Flags
from hookgate.cli.terminal.keyboard import Keyboard, open_keyboard
from hookgate.cli.terminal.person.pictures import picture
from hookgate.cli.terminal.person.seating import seated
from hookgate.cli.terminal.printing import prompt_text, welcome
from hookgate.cli.terminal.prompt import Prompt
from hookgate.cli.terminal.recalling import recalled
from hookgate.cli.terminal.starting import open_chat
from hookgate.cli.terminal.talk import CHAT, Talk
from hookgate.cli.terminal.trust import introduce
from hookgate.program.signals import open_until_signal
from hookgate.program.starting import allow_imports
from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import replace


async def run_chat(settings: Settings, flags: Flags) -> int:
    """The exit status. Raises ConfigError and RequiredHookFailed before anything is asked."""
    logs = PromptLogs()
    set_up_logs(settings.config.log, logs, tells_extensions=True)
    if flags.once is not None:
        from hookgate.cli.terminal.once.question import run_once

        return await run_once(settings, flags, flags.once, logs)
    return await _run_interactive(settings, flags, logs)


# --- interactive --------------------------------------------------------------------------------------------


async def _run_interactive(settings: Settings, flags: Flags, logs: PromptLogs) -> int:
    async with (
        open_until_signal(signal.SIGTERM, signal.SIGHUP),
        open_conversation_journal(settings.config, NAME, flags.keep) as journal,
        open_keyboard() as keyboard,
    ):
        terminal = seated(keyboard, piped=flags.yes_from_stdin, plain=flags.plain)
        terminal.tells_refusals = not settings.config.agent.show_denials
        surface = TerminalSurface(terminal)
        # On the screen only one writes; a log that goes to a file goes on doing so.
        above = logs.above(terminal.between) if keyboard.edits and sys.stderr.isatty() else nullcontext()
        tell = terminal.between if keyboard.edits else complain
        with above:
            async with open_early(keyboard, terminal, CHAT) as early:
                settings = await _agreed(settings, keyboard, terminal, tell)
                hearing = (observer("terminal", OBSERVED, terminal.hear),) if keyboard.person else ()
                ports = Ports(
                    (terminal,), {terminal.name: surface}, inside=hearing, journal=journal, lists_calls=bool(hearing)
                )
                # Before a turn that was cut off goes on, and asks something.
                for line, answers in await recalled(settings, journal, CHAT) if journal is not None else ():
                    if answers:
                        allow_imports()
                        await terminal.send(Outbound(CHAT, line), "")
                    else:
                        terminal.between(line)
                async with open_chat(settings, flags, ports, terminal.beside, tell, early.opened) as runtime:
                    waited = over(keyboard, early)
                    if runtime.skills is not None:
                        runtime.skills.tell = terminal.between if keyboard.person else complain
                    await converse(runtime, terminal, keyboard, surface, waited)
    return 0


async def _agreed(settings: Settings, keyboard: Keyboard, terminal: Terminal, tell: Write) -> Settings:
    """With what a person who sits there agrees to. Raises ConfigError."""
    if not keyboard.person or (extensions := settings.extensions) is None:
        return settings
    await ask_about_changes(keeping_of(settings), terminal.put)
    found = await introduce(settings.config, extensions, terminal.put, tell)
    return replace(settings, extensions=replace(extensions, found=found))


async def converse(
    runtime: Runtime,
    terminal: Terminal,
    keyboard: Keyboard,
    surface: TerminalSurface | None = None,
    waited: Iterable[str] = (),
) -> None:
    """Line by line, until the person leaves: where the line is there at all times the next one does not wait.
    `waited`: what was typed before all had started."""
    surface = surface or TerminalSurface(terminal)
    _acquaint(runtime, terminal, keyboard)
    async with trio.open_nursery() as nursery:
        talk = Talk(runtime, terminal, keyboard, nursery, waited)
        # Whoever reads that all has started is warned before a Ctrl-C leaves.
        await nursery.start(_run_interrupts, talk)
        terminal.between(welcome(runtime))
        keyboard.answers = talk.answers
        runtime.gateway.commands.add(talk.commands().rows())
        nursery.start_soon(_warn_unconfined, runtime, terminal, warned := trio.Event())
        nursery.start_soon(terminal.run)
        await talk.answered()
        prompt = Prompt(keyboard, surface, runtime.extensions)
        if not keyboard.person:
            await warned.wait()
        with suppress(EOFError):
            while True:
                said = await prompt.next()
                # Before anything can run unconfined, and beside no answer.
                await warned.wait()
                talk.warned = not keyboard.person
                if said.typed:
                    await talk.say(said.text)
                else:
                    await talk.submit(said.text)
        nursery.cancel_scope.cancel()
    # Of an answer that still streamed, what has come so far is not lost to whoever leaves.
    terminal.end_stream(CHAT)
    # Hooks may take their time to end, and the shell's next line is typed meanwhile.
    keyboard.leave()


def _acquaint(runtime: Runtime, terminal: Terminal, keyboard: Keyboard) -> None:
    """Both with what runs: what a call would change, what stands before the line, what Tab makes of it, and what of
    it is kept."""
    terminal.picture = partial(picture, runtime)
    keyboard.prompt = partial(prompt_text, runtime)
    keyboard.folder = runtime.settings.workspace
    keyboard.completes = partial(runtime.gateway.commands.completed, CHAT)
    keyboard.keeps = lambda typed: runtime.agent.around.redactor.text(typed) == typed


async def _warn_unconfined(runtime: Runtime, terminal: Terminal, warned: trio.Event) -> None:
    sandbox = await runtime.tools.sandbox.chosen()
    # Under Landlock a command can write what is kept from the file tools.
    if sandbox.kind != "bwrap":
        terminal.beside(f"! {sandbox.note}")
    warned.set()


async def _run_interrupts(talk: Talk, task_status: trio.TaskStatus[None]) -> None:
    with trio.open_signal_receiver(signal.SIGINT) as interrupts:
        task_status.started()
        async for _number in interrupts:
            talk.interrupted()
