"""`hookgate rpc`: zot's RPC on stdin and stdout. Joins the pipes, the server and the conversation that it serves."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Container, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from hookgate import __version__
from hookgate import config as configuration
from hookgate.assembly.settings import KeptConversation, Settings, kept_name
from hookgate.config import ConfigError
from hookgate.embedding.above import settled
from hookgate.program.signals import open_until_signal
from hookgate.program.starting import begun
from hookgate.protocol.chat import Chat
from hookgate.protocol.rpc import events
from hookgate.rpc.flags import BadFlags, Flags, parse_flags, usage
from hookgate.rpc.pipes import SIGNALS, Writer, hung_up, read_lines
from hookgate.rpc.server import Server, Terms
from hookgate.rpc.surface import RpcSurface
from hookgate.rpc.talk import CHANNEL

if TYPE_CHECKING:
    from hookgate.embedding.conversation import Seat
    from hookgate.loop.sessions.jobs import Jobs
    from hookgate.protocol.journal.interfaces import Journal

STDIN, STDOUT = 0, 1
FAILED = 1
PATIENCE_S = 30.0
"""With a reader of stdout who takes nothing of what waits for him."""


def run_rpc(arguments: Sequence[str]) -> int:
    """The exit status: 0 at the end of stdin, 1 for what is wrong before or while it serves."""
    program = _program()
    try:
        flags = parse_flags(arguments, program)
    except BadFlags as mistake:
        _say(f"{program}: rpc: {mistake}\n{program} rpc --help lists the flags")
        return FAILED
    if flags.help:
        sys.stdout.write(usage(program))
        return 0
    if flags.version:
        sys.stdout.write(f"{program} {__version__}\n")
        return 0
    try:
        if flags.list_models:
            return _list_models(flags)
        settings = _settled(flags)
    except ConfigError as mistake:
        _say(f"{program}: rpc: {mistake}")
        return FAILED
    if flags.resume:
        _say(f"{program}: rpc: --resume has no effect: --session NAME and --continue say which conversation goes on")
    if flags.no_yolo:
        _say(f"{program}: rpc: --no-yolo has no effect: approvals are what the configuration says")
    return _served(program, settings, flags)


def _list_models(flags: Flags) -> int:
    """No key is needed for that. Raises ConfigError."""
    from hookgate.rpc.listing import model_lines
    from hookgate.sections import Config

    file = _file(flags)
    config = configuration.load(file)[0] if file is not None else Config()
    sys.stdout.write("".join(f"{line}\n" for line in model_lines(config)))
    return 0


def _file(flags: Flags) -> Path | None:
    """The configuration's, if there is one, now that `--cwd` is where we are. Raises ConfigError."""
    file = Path(flags.config).resolve() if flags.config else None
    if flags.cwd:
        try:
            os.chdir(flags.cwd)
        except OSError as error:
            raise ConfigError(f"--cwd {flags.cwd}: {error.strerror}") from None
    usual = Path(configuration.FILE_NAME)
    return usual if file is None and usual.is_file() else file


def _settled(flags: Flags) -> Settings:
    """Everything that can be wrong before a frame is written. Raises ConfigError."""
    settings = settled(_file(flags), **flags.above)
    # Both are asked for again: better now than in the middle of a conversation.
    _ = settings.workspace
    if flags.keep.name:
        kept_name(flags.keep.name)
    return settings


def _broken(settings: Settings) -> tuple[str, ...]:
    """A line for each extension of the command line that cannot be loaded: these are told before anything is open."""
    if settings.extensions is None or not settings.extensions.named:
        return ()
    from hookgate.assembly.extensions.looking import unloaded
    from hookgate.extensions.discovery import find

    return unloaded(find(settings.extensions.named, None))


def _strangers(settings: Settings, flags: Flags) -> Iterator[str]:
    """A line for each name of `--tools` that covers nothing."""
    from hookgate.assembly.preflight.naming import strange_tools

    yield from (f"--tools: {it}" for it in strange_tools(settings.config, flags.tools))


def _served(program: str, settings: Settings, flags: Flags) -> int:
    from hookgate.assembly.models import unknown_of
    from hookgate.program.endings import INTERRUPTED, ending

    if note := unknown_of(settings.config, settings.config.agent.model):
        _say(f"{program}: rpc: {note}")
    terms = Terms(configuration.rpc_token(), flags.approvals, bool(flags.keep), flags.compact_done)
    service = Service(settings, terms, flags)
    try:
        trio.run(service.run)
    except (Exception, BaseExceptionGroup) as error:
        plain = ending(error)
        if plain is None:
            raise
        text, status = plain
        if status == INTERRUPTED:
            return status
        _say(f"{program}: rpc: {text.removeprefix('hookgate: ')}")
        return FAILED
    if service.server.refused:
        _say(f"{program}: rpc: bad auth token")
    return service.status


class Service:
    """One run, from the first line to the exit status."""

    def __init__(self, settings: Settings, terms: Terms, flags: Flags) -> None:
        self.status = FAILED
        self.writer = Writer(STDOUT)
        self.server = Server(settings, terms, self.writer.write)
        self.surface = RpcSurface(self.server.tell, lambda: self.writer.full)
        self._settings, self._flags = settings, flags

    async def run(self) -> None:
        """Until stdin ends and everything asked for is done; until a signal; or until nobody reads.

        The latter two cancel what runs. In each case child processes are stopped first.
        """
        async with open_until_signal(*SIGNALS) as came, trio.open_nursery() as nursery:
            scope = nursery.cancel_scope
            nursery.start_soon(self.writer.end_when_gone, scope)
            nursery.start_soon(self._end_when_stuck, scope)
            nursery.start_soon(self.writer.run)
            nursery.start_soon(self._work)
            nursery.start_soon(self.server.commands.run, self.writer.room)
            nursery.start_soon(self.surface.run, self.writer.room)
            await read_lines(STDIN, self.server.take, self.writer.room)
            self.server.approvals.close()
            if not self.server.refused:
                await self.server.idle()
            await self.writer.drained()
            self.status = FAILED if self.server.refused else 0
            scope.cancel()
        if came:
            self.status = 128 + came[0]

    async def _work(self) -> None:
        """Open the conversation, and do what is asked of it, until cancelled."""
        told = await trio.to_thread.run_sync(_broken, self._settings, abandon_on_cancel=True)
        for problem in told:
            _say(problem)
        # Importing takes long, and whoever asks meanwhile is to be answered: so not in this thread.
        await trio.to_thread.run_sync(_import, self._settings.kind, self._flags.keep, abandon_on_cancel=True)
        from hookgate.assembly.journals import open_conversation_journal
        from hookgate.assembly.logs.opening import set_up_logs
        from hookgate.embedding.past import Past

        set_up_logs(self._settings.config.log, tells_extensions=True)
        async with (
            open_conversation_journal(self._settings.config, CHANNEL, self._flags.keep) as journal,
            trio.open_nursery() as nursery,
        ):
            if self._flags.keep and journal is None:
                _say(f"{_program()}: rpc: --continue: none is kept here yet; --session NAME keeps this one")
            past = Past(self._settings, journal) if journal is not None else None
            nursery.start_soon(self.server.unread.run, past)
            await self._converse(journal, told)

    async def _converse(self, journal: Journal | None, told: Container[str]) -> None:
        """From here on prompts are done, until cancelled. `told`: problems that somebody has heard of."""
        from hookgate.embedding.opening import open_conversations

        opening = open_conversations(self._settings, CHANNEL, self._enter, self.surface, journal)
        async with opening as conversations:
            self.server.use(conversations)
            begun()
            for problem in (*conversations.main.problems, *conversations.main.take_notes()):
                if problem not in told:
                    _say(problem)
            for stranger in _strangers(self._settings, self._flags):
                _say(f"{_program()}: rpc: {stranger}")
            await trio.sleep_forever()

    def _enter(self, chat: Chat) -> tuple[Seat, Jobs]:
        """The other end of one chat."""
        from hookgate.embedding.conversation import Seat

        tell = partial(self._tell, chat)
        seat = Seat(chat, tell, self.server.approvals.ask, self.writer.room, done=self._flags.compact_done)
        return seat, self.server.enter(chat).jobs

    async def _end_when_stuck(self, scope: trio.CancelScope) -> None:
        """Who asks for nothing more and does not read what there is, has left it behind."""
        told = -1.0
        while True:
            ended = hung_up(STDIN)
            await self.writer.stuck(PATIENCE_S)
            unread = f"nobody has read stdout for {PATIENCE_S:g} s, {self.writer.waiting_bytes} bytes wait there"
            if ended:
                _say(f"{_program()}: rpc: {unread}, and stdin has ended: it ends without them")
                scope.cancel()
                return
            if told != self.writer.moved:
                told = self.writer.moved
                _say(f"{_program()}: rpc: {unread}; the conversation goes on when they are read")

    def _tell(self, chat: Chat, event: events.Event) -> None:
        """Only what a tool prints on its way is left out while too much waits: its result has it all."""
        if not (isinstance(event, events.ToolProgress) and self.writer.full):
            self.server.tell(event, chat)


def _import(kind: str, keep: KeptConversation) -> None:
    import_module("hookgate.embedding.opening")
    import_module("hookgate.assembly.logs.opening")
    import_module(f"hookgate.providers.{kind}")
    if keep:
        import_module("hookgate.store.journal")
    if kind != "scripted":
        # Else the first call would load it, while everybody waits.
        import_module("hookgate.providers.endpoint.http")


def _program() -> str:
    """As whoever started it called it."""
    name = Path(sys.argv[0]).name
    return "hookgate" if name in ("", "__main__.py", "-c") else name


def _say(text: str) -> None:
    """On stderr; left out where that is full as well, for it would hold up everything."""
    if not select.select((), (sys.stderr,), (), 0)[1]:
        return
    sys.stderr.write(text.rstrip("\n") + "\n")
    sys.stderr.flush()
