"""A runtime for a look or a single call: everything is started for real, but no model can be asked."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from hookgate import config as configuration
from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.settings import ExtensionFlags, Ports, Settings
from hookgate.channels.printable import printable
from hookgate.channels.terminal.once import Once
from hookgate.hooks.rules import Mount
from hookgate.operations.extensions import extension_problems
from hookgate.protocol.errors import ProviderFailed
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.values import LLMReply, LLMRequest

UNSET = "none/none"
"""Stands for agent.model where the configuration has none: no tool needs one."""


class NoModel:
    """A provider that nobody should ask."""

    async def complete(self, request: LLMRequest, on_text: Callable[[str], None]) -> LLMReply:
        raise ProviderFailed("auth", "this command asks no model")


@asynccontextmanager
async def open_without_model(
    config_file: Path | None,
    channel: Channel | None = None,
    inside: Sequence[Mount] = (),
    named: tuple[Path, ...] = (),
    *,
    looking: bool = True,
) -> AsyncGenerator[Runtime]:
    """The configuration's hooks and tools, started; `named`: folders of extensions besides. `looking`: no tool is
    run, so nothing has to be guarded.

    Raises ConfigError and RequiredHookFailed.
    """
    config, file = configuration.load(config_file)
    set_up_logs(config.log, tells_extensions=True)
    model = config.agent.model or UNSET
    agent = config.agent.model_copy(update={"model": model})
    providers = dict.fromkeys({*config.providers, model.partition("/")[0]}, NoModel())
    settings = Settings(
        config.model_copy(update={"agent": agent}),
        file.parent,
        config_file,
        extensions=ExtensionFlags(named, discover=True),
        skills=True,
        looking=looking,
    )
    # Why a call was refused is its result, which is shown.
    ports = Ports((channel or Once(),), inside=inside, providers=providers, lists_calls=True)
    async with open_runtime(settings, ports) as runtime:
        # Whoever looks, or calls, wants the tools that hooks declare.
        await runtime.tried()
        for line in (*extension_problems(runtime), *runtime.text_problems()):
            sys.stderr.write(printable(line) + "\n")
        yield runtime
