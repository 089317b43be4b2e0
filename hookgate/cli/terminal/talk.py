"""Of a chat at the terminal, each line that is typed: a message, a command, or an answer that came too late; and what
Ctrl-C means there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from math import inf
from secrets import token_hex

import trio

from hookgate.assembly.app import Runtime
from hookgate.channels.terminal.channel import NAME, Terminal
from hookgate.channels.terminal.screen import Write
from hookgate.cli.printing import complain
from hookgate.cli.terminal.commands import slash_lines
from hookgate.cli.terminal.commands.own import TerminalCommands
from hookgate.cli.terminal.keyboard import Keyboard
from hookgate.cli.terminal.printing import GOES_ON, PROMPT
from hookgate.cli.terminal.recalling import short
from hookgate.cli.terminal.starting import report
from hookgate.loop.commands.table import Invocation
from hookgate.loop.sessions.jobs import Job
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.values import Accepted

CHAT = Chat(NAME, "terminal", sender="user")
WAITS = "· a turn runs: this waits for its end (/stop ends it)"
HELD = "· what there is to say of it comes once this question is over"
LATE = "· {} answered no question and is not sent: with a blank before it, it is"
AGAIN = "· Ctrl-C again or Ctrl-D to leave"


class Talk:
    """`warned`: the next Ctrl-C at the prompt leaves, if nothing is typed before; a person is told first, a pipe is
    not."""

    def __init__(
        self, runtime: Runtime, terminal: Terminal, keyboard: Keyboard, nursery: trio.Nursery, waited: Iterable[str]
    ) -> None:
        self.warned = not keyboard.person
        self._waited = [*waited]
        self._runtime, self._terminal, self._keyboard = runtime, terminal, keyboard
        self._nursery = nursery
        self._shown = trio.Event()
        """All that the last message led to stands there."""
        self._shown.set()
        self._quitting, self._typed = False, keyboard.typed
        keyboard.busy = lambda: self.busy

    def commands(self) -> TerminalCommands:
        tell = self._terminal.between if self._keyboard.edits else complain
        put = self._terminal.put if self._keyboard.person else None
        return TerminalCommands(self._runtime, self._terminal, put, lambda: report(self._runtime, tell), self.quit)

    def quit(self) -> None:
        """Once what asked for that is settled: a command without an end is told of in the next chat."""
        self._quitting = True

    def leave(self) -> None:
        self._nursery.cancel_scope.cancel()

    def late(self, line: str) -> bool:
        """An answer that no question takes, and no message. What was typed before all had started met no turn."""
        session = self._runtime.gateway.sessions.get(CHAT.session_key)
        job = session.jobs.current if session is not None and line not in self._waited else None
        return self._keyboard.person and self._terminal.late(line, job.begun_at if job is not None else inf)

    def answers(self, line: str) -> bool:
        """To the question that stood there, or to a call by its id: neither is anything to say once more."""
        return self.late(line) or self._runtime.gateway.commands.decides(line)

    async def say(self, line: str) -> None:
        typed, commands = line.strip(), self._runtime.gateway.commands
        waited, late = line in self._waited, self.late(line)
        if waited:
            self._waited.remove(line)
        message = Inbound(CHAT, typed)
        if not typed:
            return
        if late:
            self._tell(LATE.format(json.dumps(typed)))
        elif unknown := slash_lines.unknown(commands, message):
            self._tell(f"· {unknown}")
        elif literal := slash_lines.literal(typed):
            await self.submit(literal)
        else:
            command = commands.read(message)
            waits = (command is None or command.command.waits) and (self.busy if waited else self._waits())
            if waited and command is None and not waits:
                self._repeat(typed)
            if self._terminal.asks and command is not None:
                message = self._at_question(message, command)
            accepted = await self._runtime.gateway.receive(message)
            if self._quitting:
                self.leave()
            await self.answered(accepted, typed if waits else "")

    def _at_question(self, message: Inbound, invocation: Invocation) -> Inbound:
        """What an extension has to say could look like another question."""
        if invocation.command.extension:
            self._terminal.aside(HELD)
            return message
        message = replace(message, message_id=token_hex(8))
        self._terminal.replies.add(message.message_id)
        return message

    async def submit(self, text: str) -> None:
        """A message that is no command, whatever it begins with."""
        waits = self._waits()
        await self.answered(await self._runtime.gateway.submit(Inbound(CHAT, text)), text if waits else "")

    def _waits(self) -> bool:
        """Whether what is typed has to; then that is said."""
        waits = self.busy and self._keyboard.edits
        if waits:
            self._tell(WAITS)
        return waits

    def _tell(self, line: str) -> None:
        """hookgate's own words about what was typed: at a question as well."""
        (self._terminal.aside if self._terminal.asks else self._terminal.between)(line)

    async def answered(self, accepted: Accepted | None = None, waiting: str = "") -> None:
        """Until all is answered, where the next line waits for that. `waiting`: a message that others come before."""
        session = self._runtime.gateway.sessions.get(CHAT.session_key)
        job = session.jobs.holding(accepted) if session is not None and accepted is not None else None
        if not self._keyboard.edits:
            await self._runtime.gateway.idle(CHAT.session_key)
            await show_diff(self._runtime, self._terminal.screen.write)
            return
        before, shown = self._shown, trio.Event()
        if job is not None:
            self._shown = shown
            if waiting and not job.begun_at:
                job.before = partial(self._introduce, waiting, before)
            elif waiting:
                self._repeat(waiting)
        self._nursery.start_soon(self._follow, job, shown)

    async def _introduce(self, waited: str, before: trio.Event) -> None:
        """What it was waiting with stands above all that it leads to, and below what came of the one before, whose
        changes are seen before this one has begun to change anything."""
        await before.wait()
        self._repeat(waited)

    async def _follow(self, job: Job | None, shown: trio.Event) -> None:
        try:
            await (self._runtime.gateway.idle(CHAT.session_key) if job is None else job.wait())
            await show_diff(self._runtime, lambda diff: self._terminal.painted(diff.removesuffix("\n")))
        finally:
            shown.set()

    def _repeat(self, waited: str) -> None:
        self._terminal.between(f"{PROMPT}{short(waited)}".replace("\n", f"\n{GOES_ON}"))

    def interrupted(self) -> None:
        """Ctrl-C ends the turn; two that find none to end, or one that ends already, end the program."""
        self._keyboard.interrupted()
        # What ended just now is nothing to stop any more.
        if self._runtime.gateway.stop(CHAT.session_key) or self._keyboard.clear():
            # Whoever was warned before has been busy since.
            self.warned = not self._keyboard.person
            return
        if self.warned and self._typed == self._keyboard.typed:
            self.leave()
            return
        self.warned, self._typed = True, self._keyboard.typed
        self._terminal.between(AGAIN)

    @property
    def busy(self) -> bool:
        """A turn runs."""
        session = self._runtime.gateway.sessions.get(CHAT.session_key)
        return session is not None and session.busy


async def show_diff(runtime: Runtime, show: Write) -> None:
    """What the turn changed in the workspace, where `--diff` asks for it."""
    if runtime.tools.recorder is not None and (diff := await runtime.tools.recorder.take()):
        show(diff)
