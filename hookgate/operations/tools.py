"""The tools of a running gateway: those registered, those that hooks declare, those kept back; new descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from pathlib import Path

from hookgate.approvals.rules import Rule
from hookgate.assembly.app import Runtime
from hookgate.config import workspace_key
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.catalog import RowState, ServerRow, StoreFailed, ToolRow
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import Json, JsonObject, Step, ToolSpec
from hookgate.sections.tools import PreferenceSection
from hookgate.tools.schema.spec import spec_problem
from hookgate.tools.select import Selector


@dataclass(frozen=True)
class Listed:
    """One line of `hookgate tools list`. `approval` names the rules by which a person is asked, in some chat at
    least; `approval_origins` has for each of them the origins of the calls that it is about, empty: of all.

    `shadowed_by` is empty for what a model sees. `state` is not `ok` for a row of the catalog that was not started,
    nor for a tool that a hook declares as no model could use it; `reason` then says why. `override` is the operator's
    text, `description` the tool's own.
    """

    name: str
    provider: str
    version: int = 0
    read_only: bool = False
    pure: bool = False
    reserved: bool = False
    approval: tuple[str, ...] = ()
    approval_origins: tuple[tuple[str, ...], ...] = ()
    shadowed_by: str = ""
    state: RowState = "ok"
    reason: str = ""
    description: str = ""
    override: str = ""
    timeout_s: float = 0.0
    parameters: JsonObject = field(default_factory=dict[str, Json])
    preference: JsonObject = field(default_factory=dict[str, Json])

    @property
    def flags(self) -> tuple[str, ...]:
        named = {"read-only": self.read_only, "pure": self.pure, "reserved": self.reserved}
        return (*(name for name, is_set in named.items() if is_set), *(["approval"] if self.approval else []))


@dataclass(frozen=True)
class Refreshed:
    """`revision`: of the descriptions."""

    revision: int


async def list_tools(runtime: Runtime) -> tuple[Listed, ...]:
    """Every tool by name, what a model sees before what is shadowed and refused; then the rows of the catalog that do
    not run."""
    overrides = {name: row.text for name, row in runtime.tools.catalog.descriptions.items()}
    registered = [*_registered(runtime, overrides), *_declared(runtime)]
    asked = [_asked(row, runtime.agent.approvals.rules) for row in registered]
    asked.sort(key=lambda row: (row.name, row.shadowed_by != "", row.provider))
    return (*asked, *unstarted(runtime))


async def refresh_tools(runtime: Runtime) -> Refreshed:
    """Take over what another process wrote to the store."""
    try:
        return Refreshed(await runtime.tools.descriptions.refresh())
    except StoreFailed as error:
        raise OperationRefused(str(error)) from None


def _registered(runtime: Runtime, overrides: Mapping[str, str]) -> Iterator[Listed]:
    snapshot = runtime.agent.registry.snapshot()
    for row in runtime.agent.registry.rows():
        line = Listed(
            row.name,
            row.provider,
            row.version,
            read_only="read-only" in row.flags,
            pure="pure" in row.flags,
            reserved=row.reserved,
            shadowed_by=row.shadowed_by,
        )
        tool = None if row.shadowed_by else snapshot.get(row.name)
        if tool is not None:
            line = replace(_with_spec(line, tool.spec, runtime), override=overrides.get(row.name, ""))
        yield line


def _declared(runtime: Runtime) -> Iterator[Listed]:
    """What hooks said at hello. They join a request last, so that a registered tool of the same name stays."""
    visible = {row.name: row.provider for row in runtime.agent.registry.rows() if not row.shadowed_by}
    for mount in runtime.gate.mounts:
        if not mount.answers_at(Stage.BEFORE_TOOL):
            continue
        for spec in mount.hook.declared.tools:
            provider = f"hook:{mount.name}"
            if problem := spec_problem(spec):
                yield Listed(spec.name, provider, state="refused", reason=problem)
                continue
            holder = visible.setdefault(spec.name, provider)
            line = Listed(spec.name, provider, read_only=spec.read_only, pure=spec.pure)
            line = replace(line, shadowed_by="" if holder == provider else holder)
            yield _with_spec(line, replace(spec, provider=provider), runtime)


def declared_specs(runtime: Runtime, step: Step) -> tuple[ToolSpec, ...]:
    """The specs that hooks declared for such a call and that no registered tool hides, under their owners' names."""
    visible = set(runtime.agent.registry.snapshot().tools)
    found: dict[str, ToolSpec] = {}
    for mount in runtime.gate.mounts:
        if mount.answers_at(Stage.BEFORE_TOOL) and mount.rules.match.matches(step, "", step.model):
            for spec in mount.hook.declared.tools:
                if spec.name not in visible and not spec_problem(spec):
                    found.setdefault(spec.name, replace(spec, provider=f"hook:{mount.name}"))
    return tuple(found.values())


def _with_spec(line: Listed, spec: ToolSpec, runtime: Runtime) -> Listed:
    return replace(
        line,
        description=spec.description,
        timeout_s=spec.timeout_s,
        parameters=spec.parameters,
        preference=_preference(spec, runtime.settings.config.tools.preferences),
    )


def _preference(spec: ToolSpec, configured: Sequence[PreferenceSection]) -> JsonObject:
    """The tool's own, and every section of the configuration that covers it."""
    own = spec.preference
    sections: list[Json] = [it.model_dump(mode="json") for it in configured if Selector(it.tools).covers(spec)]
    return {"enabled": own.enabled, "weight": own.weight, "overrides": own.overrides, "configured": sections}


def _asked(row: Listed, rules: Sequence[Rule]) -> Listed:
    mine = [rule for rule in rules if rule.match.matches(None, row.name)]
    return replace(
        row,
        approval=tuple(rule.name for rule in mine),
        approval_origins=tuple(rule.origins.patterns for rule in mine),
    )


# --- the catalog --------------------------------------------------------------------------------------------


def unstarted(runtime: Runtime) -> Iterator[Listed]:
    """The rows of the catalog whose tools are not what a model sees, and why."""
    from hookgate.tools.dynamic.identity import PROVIDER

    rows, catalog = runtime.agent.registry.rows(), runtime.tools.catalog
    workspace = workspace_key(runtime.settings.config)
    visible = {row.name: row.provider for row in rows if not row.shadowed_by}
    for tool in catalog.tools(workspace):
        holder = visible.get(tool.name, "")
        if holder != PROVIDER:
            state, reason = _tool_state(tool, holder, runtime.settings.config.dynamic.enabled)
            yield Listed(tool.name, PROVIDER, state=state, reason=reason)
    providers = {row.provider for row in rows}
    for server in catalog.servers(workspace):
        if f"mcp:{server.name}" not in providers:
            state, reason = _server_state(server)
            yield Listed(server.name, f"mcp:{server.name}", state=state, reason=reason)


def _tool_state(row: ToolRow, holder: str, dynamic: bool) -> tuple[RowState, str]:
    from hookgate.tools.dynamic.standing import Facts, standing

    if not dynamic:
        return "disabled", "dynamic.enabled is off"
    found = standing(row, Facts(_digest(row), holder))
    return found.state, found.reason or "it could not be started"


def _digest(row: ToolRow) -> str | None:
    """Of what lies on disk now, in the terms of the row's kind."""
    from hookgate.tools.dynamic.identity import digest

    try:
        program = Path(row.source).read_bytes()
        source = program.decode() if row.kind == "process" else sha256(program).hexdigest()
    except (OSError, UnicodeDecodeError):
        return None
    return digest(source, row.spec)


def _server_state(row: ServerRow) -> tuple[RowState, str]:
    if not row.enabled:
        return "disabled", "it is switched off"
    if row.origin == "model":
        return "needs_approval", "the model made it, and its approval counted for that run alone"
    return "missing", "it is not connected"
