"""Everything about tools that a configuration asks for: opened in order, closed in reverse. Asks no model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

import trio

from hookgate import config as configuration
from hookgate.approvals.rules import Rule
from hookgate.assembly.hooks.opening import approval_rules
from hookgate.assembly.keeping.kept import Keeping, seals_folder
from hookgate.assembly.keeping.rechecks import Rechecks
from hookgate.assembly.keeping.seals import Seals
from hookgate.assembly.settings import Settings
from hookgate.config import ConfigError
from hookgate.loop.calls.execution_policy import Around, Compare
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat.media import MediaStore
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.match import Globs
from hookgate.protocol.interfaces import Redactor, Tool
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.values import ToolCall, ToolSpec
from hookgate.protocol.zot.names import EXTENSION
from hookgate.sections import Config
from hookgate.sections.tools import ToolsSection
from hookgate.store import Store, StoredDescriptions, Without, open_catalog
from hookgate.store.media import FileMedia, MediaLimits
from hookgate.store.places import media_beside
from hookgate.tools.builtin import Parts, builtin_tools
from hookgate.tools.builtin.bash import SPEC as BASH
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.memo import Budget
from hookgate.tools.registry import Registry
from hookgate.tools.select import Preference, Selection, SelectionLimits
from hookgate.tools.shell.background import Background, open_background
from hookgate.tools.shell.sandbox import SandboxOptions, Shelter, open_shelter

if TYPE_CHECKING:
    from hookgate.assembly.tools.turn_diff import Recorder
    from hookgate.tools.dynamic.workshop import Workshop
    from hookgate.tools.mcp.roster import Roster

Tell = Callable[[str, str], None]
"""Takes a provider of tools and what it reports to the conversations that use it."""

MB = 1_000_000
_RUN_CODE = ("dynamic", "mcp:", EXTENSION)
"""What the providers of such tools begin with."""

NO_STORE = Without(StoreFailed("no store is open: nothing in the configuration needs one"))


@dataclass(frozen=True)
class Toolset:
    """`recorder`: only where somebody wants to see what a turn changed."""

    registry: Registry
    selection: Selection
    around: Around
    sandbox: Shelter
    catalog: Store | Without
    descriptions: StoredDescriptions
    recorder: Recorder | None
    keeping: Keeping
    seals: Seals
    rechecks: Rechecks
    media: MediaStore


@dataclass(frozen=True)
class More:
    """What makes and brings tools at run time, where the configuration has it."""

    workshop: Workshop | None = None
    roster: Roster | None = None


async def open_toolset(
    stack: AsyncExitStack, settings: Settings, redactor: Redactor, journal: Journal | None = None
) -> Toolset:
    """The built-ins that `tools.enabled` covers, and what surrounds the calls of all tools. Raises ConfigError."""
    config, section = settings.config, settings.config.tools
    keeping = keeping_of(settings)
    sandbox, seals = await _open_walls(stack, settings, keeping)
    background = await stack.enter_async_context(open_background(sandbox.tmp, seals.running))
    catalog = await _open_catalog(stack, config)
    descriptions = StoredDescriptions(catalog)
    registry = Registry(descriptions.get)
    _follow(registry, descriptions)
    workspace = Workspace(configuration.workspace_folder(config), keeping, keeping.hidden)
    media = _media(config, journal)
    environment = configuration.base_environment()
    built_in = Parts(workspace, sandbox, environment, background, section.web_fetch_private, section.output)
    if settings.serving:
        built_in = replace(built_in, media=media, redactor=redactor)
    _register(registry, builtin_tools(built_in), Globs(section.enabled))
    recorder = _recorder(workspace) if settings.recording else None
    around = _around(section, workspace, background)
    watches = around.watches if recorder is None else (recorder.watch, *around.watches)
    around = replace(around, watches=watches, redactor=redactor, running=partial(_running, seals))
    return Toolset(
        registry=registry,
        selection=selection(section, registry),
        around=replace(around, media=media, keeps_files=settings.serving),
        sandbox=sandbox,
        catalog=catalog,
        descriptions=descriptions,
        recorder=recorder,
        keeping=keeping,
        seals=seals,
        rechecks=Rechecks(keeping, seals),
        media=media,
    )


async def _open_walls(stack: AsyncExitStack, settings: Settings, keeping: Keeping) -> tuple[Shelter, Seals]:
    """What commands run within, and what tells whether they have changed what guards hookgate."""
    config, section = settings.config, settings.config.tools
    # There from the first run on: what is not there a sandbox cannot hide.
    with suppress(OSError):
        configuration.runtime_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
    limits = SandboxOptions(section.sandbox, section.sandbox_network == "open")
    folder, environment = configuration.workspace_folder(config), configuration.base_environment()
    sandbox = await stack.enter_async_context(open_shelter(folder, environment, limits, keeping))
    seals = Seals(keeping.sealed, seals_folder())
    stack.callback(seals.close)
    await trio.to_thread.run_sync(seals.restore)
    return sandbox, seals


def _media(config: Config, journal: Journal | None) -> MediaStore:
    store = config.store
    limits = MediaLimits(quota=int(store.media_mb * MB), user_quota=int(store.media_user_mb * MB))
    disk = FileMedia(configuration.media_folder(config), limits)
    return disk if journal is None else media_beside(journal, disk)


def keeping_of(settings: Settings) -> Keeping:
    """What tools must not change."""
    named = settings.extensions.named if settings.extensions is not None else ()
    return Keeping(settings.config, settings.file or settings.base / configuration.FILE_NAME, named)


def _running(seals: Seals, spec: ToolSpec) -> AbstractAsyncContextManager[None] | None:
    """Whatever runs code that a model has written or chosen; file tools refuse what is kept by themselves."""
    runs = spec.name == BASH.name if spec.provider == BASH.provider else spec.provider.startswith(_RUN_CODE)
    return seals.running() if runs else None


def _recorder(workspace: Workspace) -> Recorder:
    from hookgate.assembly.tools.turn_diff import Recorder

    return Recorder(workspace, sys.stdout.isatty())


def _follow(registry: Registry, descriptions: StoredDescriptions) -> None:
    def told(_revision: int) -> None:
        registry.touch()

    descriptions.subscribe(told)


def _register(registry: Registry, tools: tuple[Tool, ...], enabled: Globs) -> None:
    for tool in tools:
        if enabled.covers(tool.spec.name):
            # Their specs do not change from start to start; the tests check them.
            registry.register(tool, reserved=True, checked=True)


def _around(section: ToolsSection, workspace: Workspace, background: Background) -> Around:
    return Around(
        memo=Budget() if section.memo else None,
        pure=Globs(section.pure) if section.pure else None,
        watches=(partial(_observed, workspace),),
        busy=background.alive,
        forget=background.forget,
    )


async def _observed(workspace: Workspace, call: ToolCall) -> Compare:
    from hookgate.tools.files.observe import watch

    return await watch(workspace, call)


def selection(section: ToolsSection, registry: Registry) -> Selection:
    """What requests ship, what stands under arguments. Raises ConfigError where it is about nothing that exists."""
    preferences = (
        Preference(it.tools, it.channels, it.enabled, it.weight, it.overrides) for it in section.preferences
    )
    made = Selection(
        preferences, SelectionLimits(section.max_tools, section.max_tokens, section.pinned), section.aliases
    )
    try:
        made.check(registry.snapshot())
    except ValueError as error:
        raise ConfigError(f"tools: {error}") from None
    return made


async def _open_catalog(stack: AsyncExitStack, config: Config) -> Store | Without:
    """Most need none: then no file is made, and no start pays for it."""
    file = configuration.store_file(config)
    if not (config.dynamic.enabled or config.mcp.model_may_connect or file.exists()):
        return NO_STORE
    return await stack.enter_async_context(open_catalog(file))


# --- what makes and brings more tools -----------------------------------------------------------------------


async def open_more_tools(stack: AsyncExitStack, settings: Settings, tools: Toolset, tell: Tell) -> More:
    """Dynamic tools and MCP servers, each only where the configuration has them; nobody waits for a slow server."""
    config, workshop, roster = settings.config, None, None
    if config.dynamic.enabled:
        from hookgate.assembly.tools.dynamic import open_dynamic

        workshop = await stack.enter_async_context(open_dynamic(config, tools.registry, tools.catalog))
    if config.mcp.servers or config.mcp.model_may_connect:
        from hookgate.assembly.tools.mcp import McpParts, open_mcp
        from hookgate.tools.mcp.server import ServerListeners

        told = ServerListeners(on_notification=lambda connection, _method, text: tell(f"mcp:{connection}", text))
        workspace, rechecks = configuration.workspace_folder(config), tools.rechecks
        parts = McpParts(tools.registry, workspace, told, tools.catalog, rechecks)
        roster = await stack.enter_async_context(open_mcp(config, settings.base, parts))
    return More(workshop, roster)


def all_rules(config: Config, workshop: Workshop | None = None) -> tuple[Rule, ...]:
    """The configured ones, and those that come with tools that change which tools there are. With the workshop a
    person sees the program that a call would make."""
    return (*approval_rules(config), *_own_rules(config, workshop))


def _own_rules(config: Config, workshop: Workshop | None) -> Iterator[Rule]:
    if config.dynamic.enabled:
        from hookgate.assembly.tools.dynamic import dynamic_rules

        yield from dynamic_rules(config, workshop)
    if config.mcp.model_may_connect:
        from hookgate.assembly.tools.mcp import approval_rules as mcp_rules

        yield from mcp_rules()
