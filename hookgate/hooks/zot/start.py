"""How an extension's process becomes an extension: it is started first, and what speaks with it loaded meanwhile."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hookgate.hooks.zot.lateness import Lateness
from hookgate.hooks.zot.spec import TOKEN, ExtensionSpec
from hookgate.processes.child import Child, HelloFailed, Late, NotAgain, open_child
from hookgate.processes.pipes import Program, open_pipes
from hookgate.processes.rounds import Rounds

if TYPE_CHECKING:
    from hookgate.hooks.zot.extension import ZotExtension


@asynccontextmanager
async def open_extension(
    spec: ExtensionSpec, rounds: Rounds, late: Late = lambda _why: None
) -> AsyncGenerator[ZotExtension]:
    """An extension that is ready; `late` hears where that takes long. Leaving sends `shutdown`, stops its whole
    process group and reaps it.

    Raises HelloFailed, NotAgain where its recheck refuses it. Once open, nothing that happens to the process raises
    here: calls fail and `ended` is set.
    """
    refused = await spec.recheck() if spec.recheck is not None else ""
    if refused:
        raise NotAgain(refused)
    environment = {name: value for name, value in spec.environment.items() if name != TOKEN}
    try:
        pipes = await open_pipes(Program(spec.command, spec.directory, environment))
    except OSError as error:
        raise HelloFailed(f"spawn: {spec.command[0]}: {error.strerror or error}") from None
    # Loaded while the process starts up.
    from hookgate.hooks.zot.extension import ZotExtension

    child, lateness = Child(pipes), Lateness(spec, late)
    extension = ZotExtension(spec, child, rounds, lateness.begin)
    try:
        async with open_child(child, extension, spec.journal.lines, rounds.reads):
            lateness.over(extension.tools)
            yield extension
    except HelloFailed as error:
        lateness.failed(str(error))
        raise
