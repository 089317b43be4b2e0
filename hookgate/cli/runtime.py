"""A running hookgate: everything the configuration names, opened in order and closed in reverse."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trio

from hookgate import config as configuration
from hookgate.approvals.desk import Desk
from hookgate.cli.plans import approval_rules, plans, restarts
from hookgate.config import ConfigError
from hookgate.hooks.gate import Gate
from hookgate.hooks.mounts import Mounts, open_mounts
from hookgate.hooks.rules import Mount
from hookgate.loop.agent import Agent, Retries
from hookgate.loop.gateway import Gateway
from hookgate.protocol.interfaces import Channel, Provider
from hookgate.protocol.match import Globs
from hookgate.sections import Config, ProviderSection
from hookgate.tools.registry import Registry
from hookgate.tools.sandbox import Shelter


@dataclass(frozen=True)
class Setup:
    """What to run: `base` is the folder that relative paths of the configuration count from."""

    config: Config
    base: Path
    channels: Sequence[Channel]
    inside: Sequence[Mount] = ()
    providers: Mapping[str, Provider] = field(default_factory=dict[str, Provider])
    file: Path | None = None


@dataclass(frozen=True)
class Runtime:
    setup: Setup
    agent: Agent
    gate: Gate
    mounts: Mounts
    gateway: Gateway
    sandbox: Shelter


@asynccontextmanager
async def open_runtime(setup: Setup) -> AsyncGenerator[Runtime]:
    """Hooks started, tools registered, nothing asked yet. Raises ConfigError, RequiredHookFailed.

    Leaving stops every hook process and closes every connection.
    """
    config = setup.config
    if not config.agent.model:
        raise ConfigError('agent.model is not set: write it PROVIDER/MODEL, for example "openai/gpt-5-mini"')
    async with AsyncExitStack() as stack:
        gate = Gate(frozenset({*config.providers, *setup.providers}))
        providers = dict(setup.providers)
        for name, section in config.providers.items():
            if name not in providers:
                providers[name] = await open_provider(stack, name, section, setup.base)
        registry = Registry()
        sandbox = await _register_builtins(stack, registry, setup)
        mounts = Mounts(gate, restarts(config.hooks.defaults), setup.inside)
        await stack.enter_async_context(open_mounts(mounts, plans(config, setup.base)))
        agent = make_agent(config, providers, gate, registry)
        gateway = Gateway(agent, {channel.name: channel for channel in setup.channels})
        nursery = await stack.enter_async_context(trio.open_nursery())
        nursery.start_soon(gateway.run)
        yield Runtime(setup, agent, gate, mounts, gateway, sandbox)
        nursery.cancel_scope.cancel()


def make_agent(config: Config, providers: Mapping[str, Provider], gate: Gate, registry: Registry) -> Agent:
    section = config.agent
    return Agent(
        name=section.name,
        model=section.model,
        system=section.system,
        providers=providers,
        gate=gate,
        registry=registry,
        desk=Desk(approval_rules(config), gate.events.emit),
        max_steps=section.max_steps,
        options=section.request_options,
        retries=Retries(section.retries, section.retry_first_ms / 1000, section.retry_longest_ms / 1000),
        show_denials=section.show_denials,
        text_calls=section.text_tool_calls,
    )


async def open_provider(stack: AsyncExitStack, name: str, section: ProviderSection, base: Path) -> Provider:
    """Imports only what the kind needs: an HTTP client is the dearest part of a start."""
    idle_s, headers = section.idle_timeout_ms / 1000, tuple(section.headers.items())
    key = configuration.secret(section.api_key_env)
    try:
        match section.kind:
            case "openai":
                from hookgate.providers.openai import OPENAI_URL, open_openai

                url = section.base_url or OPENAI_URL
                return await stack.enter_async_context(open_openai(url, key, idle_s, headers))
            case "anthropic":
                from hookgate.providers.anthropic import ANTHROPIC_URL, open_anthropic

                url = section.base_url or ANTHROPIC_URL
                return await stack.enter_async_context(open_anthropic(key, url, idle_s, headers))
            case "scripted":
                from hookgate.cli.scripts import load_script

                return await load_script(base / section.script)
    except ValueError as error:
        raise ConfigError(f"providers.{name}: {error}") from None


async def _register_builtins(stack: AsyncExitStack, registry: Registry, setup: Setup) -> Shelter:
    """The built-ins that `tools.enabled` covers; the sandbox only where there is a shell to wall in."""
    from hookgate.tools.builtin import builtin_tools
    from hookgate.tools.sandbox import Limits, open_shelter
    from hookgate.tools.workspace import Workspace

    section, environment = setup.config.tools, configuration.base_environment()
    workspace = configuration.workspace_folder(setup.config)
    kept = kept_paths(setup)
    hidden = (configuration.runtime_directory(),)
    limits = Limits(section.sandbox, section.sandbox_network == "open", hidden, kept)
    sandbox = await stack.enter_async_context(open_shelter(workspace, environment, limits))
    enabled = Globs(section.enabled)
    for tool in builtin_tools(Workspace(workspace, kept), sandbox, environment, section.web_fetch_private):
        if enabled.covers(tool.spec.name):
            registry.register(tool, reserved=True)
    return sandbox


def kept_paths(setup: Setup) -> tuple[Path, ...]:
    """What a model must not change even where it lies in the workspace: what guards it, and what runs it."""
    processes = setup.config.hooks.processes.values()
    scripts = (setup.base / hook.dir / word for hook in processes for word in hook.command)
    own = (setup.file or setup.base / configuration.FILE_NAME, Path(sys.prefix), Path(__file__).parents[1])
    return tuple(path for path in (*own, *scripts) if path.exists())
