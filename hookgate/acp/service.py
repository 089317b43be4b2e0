"""`hookgate acp`: joins the pipes and the server. Nothing but the protocol goes to stdout."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import trio

from hookgate import config as configuration
from hookgate.acp.server import Out, Server
from hookgate.assembly.settings import ExtensionFlags, Settings
from hookgate.embedding import above
from hookgate.program.signals import open_until_signal
from hookgate.program.starting import begun
from hookgate.protocol.dataclasses import replace
from hookgate.rpc.pipes import SIGNALS, Writer, read_lines
from hookgate.sections import Config
from hookgate.sections.approvals import ApprovalSection

STDIN, STDOUT, STDERR = 0, 1, 2
LAST_WORDS_S = 2.0
"""For an editor that has ended its side and may still read."""
NOT_BELIEVED = (
    f"./{configuration.FILE_NAME} is not believed: an editor starts this wherever a project lies; name it by --config"
)
USUAL = Config(approvals=(ApprovalSection(name="changes", tools=("bash", "write", "edit")),))
"""Without a file: whatever changes something is asked about."""


def settled(config_file: Path | None, model: str) -> Settings:
    """Raises ConfigError."""
    file = config_file.resolve() if config_file is not None else None
    if file is None and Path(configuration.FILE_NAME).is_file():
        _say(NOT_BELIEVED)
    settings = above.settled(file or USUAL, model=model, skills=True, context_files=True)
    return replace(settings, extensions=ExtensionFlags())


async def run_acp(settings: Settings) -> int:
    """The exit status: 0 at the end of stdin. A signal, or an editor that reads no more, ends it as well: whatever
    runs is stopped first, and what was under way goes on when its session is loaded."""
    from hookgate.assembly.logs.opening import set_up_logs

    set_up_logs(settings.config.log)
    if os.isatty(STDIN):
        _say("an editor starts this and speaks with it; `hookgate docs acp` says how to tell it so")
    writer = Writer(_take_stdout())
    server = Server(settings, Out(writer.write, writer.room, lambda: writer.full, _say))
    async with open_until_signal(*SIGNALS) as came, trio.open_nursery() as nursery:
        nursery.start_soon(writer.end_when_gone, nursery.cancel_scope)
        nursery.start_soon(writer.run)
        nursery.start_soon(server.run)
        begun()
        await read_lines(STDIN, server.take, writer.room)
        with trio.move_on_after(LAST_WORDS_S):
            await writer.drained()
        nursery.cancel_scope.cancel()
    return 128 + came[0] if came else 0


def _take_stdout() -> int:
    """For frames alone: whatever anything else prints goes to stderr."""
    frames = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    return frames


def _say(text: str) -> None:
    sys.stderr.write(f"hookgate: acp: {text}\n")
    sys.stderr.flush()
