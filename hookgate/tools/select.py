"""Which of the visible tools a request ships, and what configuration puts under their arguments. Pure.

Stands between the registry's snapshot and the request; a tool that is not selected cannot be called either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from types import MappingProxyType

from hookgate.protocol.codec import canonical
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.match import Globs
from hookgate.protocol.values import Json, JsonObject, ToolPreference, ToolSpec
from hookgate.tools.arguments import NO_RULES, ArgumentRules
from hookgate.tools.registry import Snapshot
from hookgate.tools.schema.spec import argument_names, unknown_arguments

USUAL_WEIGHT = 0.5
BYTES_PER_TOKEN = 4
"""A rough measure of any model's tokens; the budget is one of thousands."""

_NAME, _PROVIDER = "name:", "provider:"


@dataclass(frozen=True)
class Selector:
    """Patterns over tools: `GLOB` or `name:GLOB`, `provider:GLOB`; `!` in front excludes.

    Without a positive pattern everything is covered that is not excluded.
    """

    patterns: tuple[str, ...]

    def covers(self, spec: ToolSpec) -> bool:
        return self._globs.covers(_NAME + spec.name, _PROVIDER + spec.provider)

    def names(self, spec: ToolSpec) -> bool:
        """Whether one pattern is this very name, without any glob."""
        return _NAME + spec.name in self._globs.patterns

    @cached_property
    def _globs(self) -> Globs:
        return Globs(tuple(_spelled(pattern) for pattern in self.patterns))


def _spelled(pattern: str) -> str:
    excluding = "!" if pattern.startswith("!") else ""
    glob = pattern.removeprefix("!")
    return excluding + (glob if glob.startswith((_NAME, _PROVIDER)) else _NAME + glob)


@dataclass(frozen=True)
class Preference:
    """What configuration says about the tools that `tools` covers, on the channels whose globs are given (none: on
    all of them). None: no opinion. `overrides` stand under the model's own arguments."""

    tools: tuple[str, ...]
    channels: tuple[str, ...] = ()
    enabled: bool | None = None
    weight: float | None = None
    overrides: JsonObject = field(default_factory=dict[str, Json])

    @cached_property
    def selector(self) -> Selector:
        return Selector(self.tools)

    def applies(self, spec: ToolSpec, channel: str) -> bool:
        return self._channels.covers(channel) and self.selector.covers(spec)

    @cached_property
    def _channels(self) -> Globs:
        return Globs(self.channels)


@dataclass(frozen=True)
class SelectionLimits:
    """What one request may ship; 0: no limit. `pinned` tools go along whatever the limits say."""

    max_tools: int = 0
    max_tokens: int = 0
    pinned: tuple[str, ...] = ()

    @cached_property
    def pins(self) -> Selector | None:
        return Selector(self.pinned) if self.pinned else None


class Selection:
    """`aliases` maps tools to their arguments' other names, and those to the true ones. `among`: nothing else is
    shipped, whatever is preferred or pinned. `schemas`: the arguments of tools, by name, where these are shipped with
    others than they have."""

    def __init__(
        self,
        preferences: Iterable[Preference] = (),
        limits: SelectionLimits = SelectionLimits(),  # noqa: B008 - a frozen value
        aliases: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
        among: Selector = Selector(()),  # noqa: B008 - a frozen value
        schemas: Mapping[str, JsonObject] = MappingProxyType({}),
    ) -> None:
        self._preferences = tuple(preferences)
        self._limits = limits
        self._aliases = aliases
        self._among = among
        self._schemas = schemas
        self._of: Snapshot | None = None
        self._selected: dict[str, Snapshot] = {}
        self._sizes: dict[str, tuple[ToolSpec, int]] = {}

    def narrowed(
        self, patterns: tuple[str, ...], schemas: Mapping[str, JsonObject] = MappingProxyType({})
    ) -> Selection:
        """The same, among these tools alone."""
        return Selection(self._preferences, self._limits, self._aliases, Selector(patterns), schemas)

    def without(self, name: str) -> Selection:
        """The same, but for this tool."""
        return self.narrowed((*self._among.patterns, f"!{name}"), self._schemas)

    def of(self, snapshot: Snapshot, channel: str) -> Snapshot:
        """What a request of this channel ships of the snapshot, sorted by name; worked out once a version."""
        if snapshot is not self._of:
            self._of, self._selected = snapshot, {}
        if channel not in self._selected:
            self._selected[channel] = self._select(snapshot, channel)
        return self._selected[channel]

    def preference(self, spec: ToolSpec, channel: str) -> ToolPreference:
        """Field by field: a preference that names the tool, then one whose glob covers it, then the tool's own. Of
        several alike, one that names channels, then the last one."""
        fitting = [it for it in self._preferences if it.applies(spec, channel)]
        enabled, weight = spec.preference.enabled, spec.preference.weight
        overrides = dict(spec.preference.overrides)
        for it in sorted(fitting, key=lambda it: (it.selector.names(spec), bool(it.channels))):
            enabled = enabled if it.enabled is None else it.enabled
            weight = weight if it.weight is None else it.weight
            overrides.update(it.overrides)
        return ToolPreference(enabled, weight, overrides)

    def fits(self, channel: str) -> Callable[[ToolSpec], bool]:
        """Whether a request of this channel may ship a tool that is in no snapshot, since a hook has brought it; no
        limit is for those."""
        return lambda spec: self._among.covers(spec) and self.preference(spec, channel).enabled is not False

    def rules(self, spec: ToolSpec, channel: str) -> ArgumentRules:
        """What stands under the arguments of a call of this tool, and the other names that they may have."""
        if not self._preferences and not self._aliases and not spec.preference.overrides:
            return NO_RULES
        aliases = self._aliases.get(spec.name, {})
        overrides = self.preference(spec, channel).overrides
        unknown = unknown_arguments(spec.parameters, overrides)
        defaults = {name: value for name, value in overrides.items() if name not in unknown}
        return ArgumentRules(aliases, defaults) if aliases or defaults else NO_RULES

    def check(self, snapshot: Snapshot) -> None:
        """Raises ValueError, naming tool and argument, where an override or an alias is about none that it has."""
        for spec in snapshot.specs:
            for it in self._preferences:
                if it.selector.covers(spec):
                    for key in unknown_arguments(spec.parameters, it.overrides):
                        raise ValueError(_no_argument(spec, key))
            for alias, name in self._aliases.get(spec.name, {}).items():
                if unknown_arguments(spec.parameters, {name: None}):
                    raise ValueError(_no_argument(spec, name))
                if alias in argument_names(spec.parameters):
                    raise ValueError(f"{alias!r} is itself an argument of {spec.name} and cannot stand for {name!r}")

    def _select(self, snapshot: Snapshot, channel: str) -> Snapshot:
        preferred = {spec.name: self.preference(spec, channel) for spec in snapshot.specs}
        allowed = [spec for spec in snapshot.specs if self._among.covers(spec)]
        enabled = [spec for spec in allowed if preferred[spec.name].enabled is not False]
        weights = {name: USUAL_WEIGHT if it.weight is None else it.weight for name, it in preferred.items()}
        kept = frozenset(self._filled(enabled, weights))
        if len(kept) == len(snapshot.specs) and not self._schemas:
            return snapshot
        tools = {name: tool for name, tool in snapshot.tools.items() if name in kept}
        specs = tuple(self._shipped(spec) for spec in snapshot.specs if spec.name in kept)
        return Snapshot(snapshot.version, MappingProxyType(tools), specs)

    def _shipped(self, spec: ToolSpec) -> ToolSpec:
        schema = self._schemas.get(spec.name)
        return spec if schema is None else replace(spec, parameters=schema)

    def _filled(self, specs: list[ToolSpec], weights: Mapping[str, float]) -> Iterator[str]:
        """The pinned, then by weight and name whatever still fits: one large tool keeps no small one out."""
        limits, pins = self._limits, self._limits.pins
        pinned = frozenset(spec.name for spec in specs if pins is not None and pins.covers(spec))
        count, tokens = 0, 0
        for spec in sorted(specs, key=lambda it: (it.name not in pinned, -weights[it.name], it.name)):
            size = self._tokens(spec) if limits.max_tokens else 0
            full = 0 < limits.max_tools <= count or 0 < limits.max_tokens < tokens + size
            if spec.name in pinned or not full:
                count, tokens = count + 1, tokens + size
                yield spec.name

    def _tokens(self, spec: ToolSpec) -> int:
        known = self._sizes.get(spec.name)
        if known is None or known[0] is not spec:
            size = len(canonical([spec.name, spec.description, spec.parameters])) // BYTES_PER_TOKEN
            known = self._sizes[spec.name] = (spec, size)
        return known[1]


def _no_argument(spec: ToolSpec, key: str) -> str:
    return f"{key!r} is no argument of the tool {spec.name}"
