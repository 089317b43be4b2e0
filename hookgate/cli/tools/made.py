"""`hookgate tools approve` and `add`: the operator's word for tools that were made at run time, or brought along."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from hookgate import config as configuration
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.channels.printable import named
from hookgate.channels.terminal.question import Part, Question, measured
from hookgate.cli.agreeing import agreed, yes_or_no
from hookgate.cli.printing import failed, say
from hookgate.cli.running import ours
from hookgate.cli.tools.store import tell
from hookgate.config import ConfigError
from hookgate.program.signals import run_interruptibly
from hookgate.protocol.approval import OPERATOR
from hookgate.sections import Config

if TYPE_CHECKING:
    from hookgate.tools.dynamic.workshop import Made, Workshop

AS_IT_IS = yes_or_no("approve it?")
Work = Callable[["Workshop"], Awaitable["Made | None"]]


def approve_tool(name: str, config_file: Path | None, *, everywhere: bool, yes: bool) -> int:
    """Vouch for a kept tool after a look at its program. 1: there is none, it has changed, or the answer is no."""
    config = _enabled(config_file)
    approved: Work = lambda workshop: _approved(workshop, name, everywhere=everywhere, yes=yes)  # noqa: E731
    return _told(config_file, run_interruptibly(_worked, config, approved))


def add_program(program: Path, config_file: Path | None, *, everywhere: bool) -> int:
    """Keep a program that follows `--describe` and `--call` as a tool. 1 where it does not, or lies elsewhere."""
    config, path = _enabled(config_file), program.resolve()
    added: Work = lambda workshop: workshop.register_argv(path, OPERATOR.id, everywhere=everywhere)  # noqa: E731
    return _told(config_file, run_interruptibly(_worked, config, added))


def _enabled(config_file: Path | None) -> Config:
    config, _file = configuration.load(config_file)
    set_up_logs(config.log)
    if not config.dynamic.enabled:
        raise ConfigError("dynamic.enabled is not set: no kept tool would start")
    return config


def _told(config_file: Path | None, status: int) -> int:
    """A running gateway goes by its memory: until it hears of it, the tool is still the model's there."""
    if status == 0:
        tell(ours(config_file, None))
    return status


async def _approved(workshop: Workshop, name: str, *, everywhere: bool, yes: bool) -> Made | None:
    """What is approved is the row and the program that were shown."""
    from hookgate.tools.dynamic.asking import vouched_text
    from hookgate.tools.dynamic.workshop import APPROVE

    row = workshop.ledger.known(name, APPROVE)
    if not yes:
        parts = (Part("what it is", await trio.to_thread.run_sync(vouched_text, workshop, row)),)
        asked = Question(f"Approve {named(name)} as it is?", parts, (measured(name, parts, row.sha256),), AS_IT_IS)
        if not await agreed(asked):
            return None
    return await workshop.approve(row, OPERATOR.id, everywhere=everywhere)


async def _worked(config: Config, work: Work) -> int:
    from hookgate.assembly.tools.dynamic import open_dynamic
    from hookgate.store import open_store
    from hookgate.tools.errors import ToolError
    from hookgate.tools.registry import Registry

    async with (
        open_store(configuration.store_file(config)) as store,
        open_dynamic(config, Registry(), store) as workshop,
    ):
        try:
            made = await work(workshop)
        except ToolError as error:
            return failed(error.reason)
    if made is None:
        return 1
    say(f"{made.name} is the operator's now; a running hookgate takes it at its next start")
    return 0
