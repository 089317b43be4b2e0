"""Joins dynamic tools to what runs them: hook processes, the sandbox, the catalog, the rule that asks a person."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path

import trio

from hookgate import config as configuration
from hookgate.approvals.rules import Rule
from hookgate.assembly.keeping.kept import hidden_paths
from hookgate.hooks.children.process import HelloFailed, HookProcess, ProcessSpec, open_process
from hookgate.processes.rounds import Rounds, open_rounds
from hookgate.protocol.approval import Lasting
from hookgate.protocol.catalog import Catalog
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.answers import Failed, Respond
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import JsonObject, Step, ToolCall, ToolResult, ToolSpec
from hookgate.sections import Config
from hookgate.tools.dynamic.asking import approval_text, lasting
from hookgate.tools.dynamic.draft import NEW_TOOL
from hookgate.tools.dynamic.ledger import Ledger
from hookgate.tools.dynamic.lifecycle import lifecycle_tools
from hookgate.tools.dynamic.made import Workplace
from hookgate.tools.dynamic.process import OpenToolProcess, ProgramSpec, ToolProcess, ToolProcessFailed
from hookgate.tools.dynamic.shelf import Shelf
from hookgate.tools.dynamic.workshop import UNREGISTER_TOOL, Terms, Workshop, open_workshop
from hookgate.tools.kept import Kept
from hookgate.tools.registry import Registry
from hookgate.tools.shell.sandbox import Sandbox, SandboxOptions, open_shelter

ASKED_ABOUT = (NEW_TOOL, UNREGISTER_TOOL)
"""A person says yes to each call."""

# A tool is told its arguments, and nothing about who talks to whom.
_NOWHERE = Step("tool", "", Inbound(Chat("", ""), ""))


@dataclass(frozen=True)
class _HookToolProcess:
    """A hook process seen as the one tool that it owns."""

    hook: HookProcess

    @property
    def declared(self) -> ToolSpec | None:
        tools = self.hook.declared.tools
        return tools[0] if len(tools) == 1 else None

    @property
    def ended(self) -> trio.Event:
        return self.hook.ended

    async def call(self, arguments: JsonObject, timeout_s: float) -> ToolResult:
        question = Question(Stage.BEFORE_TOOL, _NOWHERE, ToolCall("call", self.hook.name, arguments))
        match await self.hook.ask(question, timeout_s):
            case Respond(result=result):
                return result
            case Failed(reason=reason):
                raise ToolProcessFailed(reason)
            case answer:
                raise ToolProcessFailed(f"it answered {answer.action}, not a result")


@asynccontextmanager
async def open_tool_processes() -> AsyncGenerator[OpenToolProcess]:
    """What starts tool processes, for as long as it is open; each is closed by who opened it."""
    async with open_rounds() as rounds:
        yield partial(_open_tool_process, rounds)


@asynccontextmanager
async def _open_tool_process(rounds: Rounds, program: ProgramSpec) -> AsyncGenerator[ToolProcess]:
    spec = ProcessSpec(
        name=program.name,
        command=program.command,
        directory=program.directory,
        environment=program.environment,
        stages=frozenset({Stage.BEFORE_TOOL}),
        observes=False,
        hello_timeout_s=program.hello_timeout_s,
        flush_s=0.0,
    )
    try:
        async with open_process(spec, rounds) as hook:
            yield _HookToolProcess(hook)
    except HelloFailed as error:
        raise ToolProcessFailed(str(error)) from None


# --- from the configuration ---------------------------------------------------------------------------------


@asynccontextmanager
async def open_dynamic(config: Config, registry: Registry, catalog: Catalog) -> AsyncGenerator[Workshop]:
    """Kept tools started, `new_tool` and `unregister_tool` registered. Only where the configuration enables it.

    Raises SandboxUnavailable where a sandbox is required and there is none.
    """
    folder = configuration.dynamic_folder(config)
    async with open_walls(config, folder) as sandbox, open_tool_processes() as open_tool_process:
        workspace = configuration.workspace_folder(config)
        place = Workplace(open_tool_process, sandbox, configuration.base_environment(), readable=(workspace,))
        shelf = Shelf(folder if config.dynamic.folder else folder / _key(workspace))
        workshop = Workshop(_terms(config), place, Ledger(catalog, registry, shelf, str(workspace)))
        for tool in lifecycle_tools(workshop):
            registry.register(tool, reserved=True)
        async with open_workshop(workshop):
            yield workshop


def _key(workspace: Path) -> str:
    """A name of its own for each workspace where all keep their programs in one place."""
    return f"{workspace.name or 'root'}-{sha256(str(workspace).encode()).hexdigest()[:8]}"


@asynccontextmanager
async def open_walls(config: Config, folder: Path) -> AsyncGenerator[Sandbox]:
    """The sandbox that each run of a tool gets a copy of; `folder` is where kept tools live."""
    limits, kept = SandboxOptions(config.tools.sandbox, False), Kept(hidden=hidden_paths(config))
    await trio.to_thread.run_sync(partial(folder.mkdir, mode=0o700, parents=True, exist_ok=True))
    async with open_shelter(folder, configuration.base_environment(), limits, lambda: kept) as shelter:
        yield await shelter.chosen()


def _terms(config: Config) -> Terms:
    section = config.dynamic
    roots = tuple(Path(root).expanduser() for root in section.argv_roots)
    return Terms(section.max_tools, section.packages, roots)


@dataclass(frozen=True)
class ApprovalText:
    """What a rule tells a person of a call. Equal for the same workshop, so that a reload sees the same rule."""

    workshop: Workshop

    def __call__(self, call: ToolCall) -> str:
        return approval_text(self.workshop, call)


@dataclass(frozen=True)
class Forever:
    """What a person may allow for always; equal as `ApprovalText` is."""

    workshop: Workshop

    def __call__(self, call: ToolCall) -> Lasting | None:
        return lasting(self.workshop, call)


def dynamic_rules(config: Config, workshop: Workshop | None = None) -> tuple[Rule, ...]:
    """To be added to the configured ones. Without the workshop a person sees the arguments of the call alone."""
    if not config.dynamic.enabled:
        return ()
    match = Matcher({"tools": Globs(ASKED_ABOUT)})
    if workshop is None:
        return (Rule("dynamic", match, once=True),)
    return (Rule("dynamic", match, describe=ApprovalText(workshop), once=True, lasting=Forever(workshop)),)
