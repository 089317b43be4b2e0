"""Tools by name, in layers: which one is visible, and the frozen set that one model call sees.

No I/O, no trio. Whoever listens is told what a registration changed; what is done about it is theirs.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType

from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import ToolSpec
from hookgate.tools.errors import NameConflict
from hookgate.tools.listeners import Listeners
from hookgate.tools.schema.spec import check_spec

Describe = Callable[[str], str | None]
"""The text that stands instead of the named tool's own description, from memory; None: its own."""


@dataclass(frozen=True)
class Snapshot:
    """The visible tools at one moment, sorted by name: a byte-stable tool block keeps prompt caches warm.

    `specs` belong to `tools` one by one and carry the descriptions of that moment.
    """

    version: int
    tools: Mapping[str, Tool]
    specs: tuple[ToolSpec, ...]

    def get(self, name: str) -> Tool | None:
        return self.tools.get(name)

    def spec(self, name: str) -> ToolSpec | None:
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, ToolSpec]:
        return {spec.name: spec for spec in self.specs}


@dataclass(frozen=True, slots=True)
class Change:
    """What a registration did to the visible set. `shadowed` names tools that another provider's now covers;
    `providers` are those whose tools came, went or are others now."""

    version: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    shadowed: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One layer for a list that people read. `version` is the registry's when it came; `shadowed_by` is the provider
    whose tool is visible instead, empty for the visible one."""

    name: str
    provider: str
    version: int
    flags: tuple[str, ...]
    reserved: bool
    shadowed_by: str


@dataclass(frozen=True, slots=True)
class _Layer:
    tool: Tool
    spec: ToolSpec
    priority: int
    reserved: bool
    order: int
    version: int = 0

    @property
    def provider(self) -> str:
        return self.spec.provider

    @property
    def rank(self) -> tuple[bool, int, int]:
        """A reserved layer is visible whatever came before or after it; else the priority, else the latest."""
        return self.reserved, self.priority, self.order


_Layers = tuple[_Layer, ...]


class Registry:
    """Layers per name: taking a provider away uncovers what it covered."""

    def __init__(self, describe: Describe | None = None) -> None:
        self.version = 0
        self._describe = describe
        self._layers: dict[str, _Layers] = {}
        self._order = 0
        self._names: list[str] = []
        self._visible: dict[str, _Layer] = {}
        self._described: dict[str, ToolSpec] = {}
        self._snapshot: Snapshot | None = None
        self._listeners = Listeners[Change]()

    def register(self, tool: Tool, *, priority: int = 0, reserved: bool = False, checked: bool = False) -> Change:
        """Push a layer for `tool.spec.provider`, whose own earlier layer of this name it replaces.

        `checked`: its spec is known to be good. Raises BadSpec, and NameConflict where another provider has reserved
        the name.
        """
        spec = tool.spec
        if not checked:
            check_spec(spec)
        others = tuple(layer for layer in self._layers.get(spec.name, ()) if layer.provider != spec.provider)
        holder = _holder(others)
        if holder:
            raise NameConflict(spec.name, holder)
        self._order += 1
        return self._put({spec.name: (*others, _Layer(tool, spec, priority, reserved, self._order))})

    def unregister(self, name: str, provider: str) -> Change:
        """Take one provider's tool away; without one it changes nothing."""
        return self._put(self._without(provider, (name,)))

    def unregister_provider(self, provider: str) -> Change:
        """Take all its tools away; what they covered reappears."""
        return self._put(self._without(provider, self._layers))

    def touch(self) -> Change:
        """The descriptions that stand instead of tools' own may be others now: the version rises."""
        self._described.clear()
        return self._risen(Change(self.version + 1))

    def listen(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Called after each change of the visible set, in the order of listening; must not wait. Returns the
        function that ends it."""
        return self._listeners.add(listener)

    def snapshot(self) -> Snapshot:
        """The same object until something visible changes."""
        if self._snapshot is None:
            tools = {name: self._visible[name].tool for name in self._names}
            specs = tuple(self._described.get(name) or self._spec(name) for name in self._names)
            self._snapshot = Snapshot(self.version, MappingProxyType(tools), specs)
        return self._snapshot

    def holds(self, spec: ToolSpec) -> bool:
        """Whether the provider still has a tool of this name, visible or not."""
        provider = spec.provider
        # Asked of every call; a generator would cost more than the few that there are.
        for layer in self._layers.get(spec.name, ()):  # noqa: SIM110
            if layer.provider == provider:
                return True
        return False

    def holder(self, name: str) -> str:
        """The provider that has reserved the name; empty: nobody has."""
        return _holder(self._layers.get(name, ()))

    def rows(self) -> tuple[Row, ...]:
        """Every layer, by name, the visible one first."""
        return tuple(row for _, layers in sorted(self._layers.items()) for row in _rows(layers))

    def _spec(self, name: str) -> ToolSpec:
        spec = self._visible[name].spec
        text = self._describe(name) if self._describe is not None else None
        spec = spec if text is None else replace(spec, description=text)
        self._described[name] = spec
        return spec

    def _without(self, provider: str, names: Mapping[str, _Layers] | tuple[str, ...]) -> dict[str, _Layers]:
        """The layers that are left, of those names alone where one goes."""
        old = {name: self._layers.get(name, ()) for name in names}
        new = {name: tuple(it for it in layers if it.provider != provider) for name, layers in old.items()}
        return {name: layers for name, layers in new.items() if layers != old[name]}

    def _put(self, changed: Mapping[str, _Layers]) -> Change:
        before = {name: self._visible[name] for name in changed if name in self._visible}
        after = {name: max(layers, key=lambda it: it.rank) for name, layers in changed.items() if layers}
        different = [name for name in changed if _differ(before.get(name), after.get(name))]
        version = self.version + bool(different)
        for name, layers in changed.items():
            self._settle(name, tuple(it if it.version else replace(it, version=version) for it in layers))
        if not different:
            return Change(version, shadowed=_shadowed(before, after))
        sides = (side[name] for name in different for side in (before, after) if name in side)
        return self._risen(
            Change(
                version,
                added=tuple(sorted(after.keys() - before.keys())),
                removed=tuple(sorted(before.keys() - after.keys())),
                shadowed=_shadowed(before, after),
                providers=tuple(sorted({layer.provider for layer in sides})),
            )
        )

    def _settle(self, name: str, layers: _Layers) -> None:
        """Names stay sorted as they come and go: sorting hundreds for each snapshot would cost more than all else."""
        self._described.pop(name, None)
        if layers:
            if name not in self._layers:
                insort(self._names, name)
            self._layers[name] = layers
            self._visible[name] = max(layers, key=lambda it: it.rank)
        elif self._layers.pop(name, None) is not None:
            del self._names[bisect_left(self._names, name)]
            del self._visible[name]
        # A tool of the same spec may be another object, so the tools are gathered anew though the version stays.
        self._snapshot = None

    def _risen(self, change: Change) -> Change:
        self.version, self._snapshot = change.version, None
        self._listeners.tell(change)
        return change


def _holder(layers: _Layers) -> str:
    return next((layer.provider for layer in layers if layer.reserved), "")


def _differ(before: _Layer | None, after: _Layer | None) -> bool:
    if before is None or after is None:
        return before is not after
    return before.spec != after.spec


def _shadowed(before: Mapping[str, _Layer], after: Mapping[str, _Layer]) -> tuple[str, ...]:
    return tuple(sorted(name for name in after if _covers(after[name], before.get(name))))


def _covers(now: _Layer, before: _Layer | None) -> bool:
    return before is not None and now.provider != before.provider and now.order > before.order


def _rows(layers: _Layers) -> list[Row]:
    ranked = sorted(layers, key=lambda it: it.rank, reverse=True)
    return [_row(layer, "" if layer is ranked[0] else ranked[0].provider) for layer in ranked]


def _row(layer: _Layer, shadowed_by: str) -> Row:
    spec = layer.spec
    flags = tuple(word for word, set_ in (("read-only", spec.read_only), ("pure", spec.pure)) if set_)
    return Row(spec.name, spec.provider, layer.version, flags, layer.reserved, shadowed_by)
