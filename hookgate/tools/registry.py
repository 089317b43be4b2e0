"""Tools by name, in layers: which one is visible, and the frozen set that one model call sees.

No I/O, no trio; whoever registers tells the observers what changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType

from hookgate.protocol.codec import canonical
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import ToolSpec
from hookgate.tools.errors import BadSpec, NameConflict
from hookgate.tools.failures import close_names
from hookgate.tools.schema import check_schema

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MAX_DESCRIPTION_BYTES = 2 * 1024


@dataclass(frozen=True)
class Snapshot:
    """The visible tools at one moment, sorted by name: a byte-stable tool block keeps prompt caches warm."""

    version: int
    tools: Mapping[str, Tool]

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools.values())

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over name, description and schema of every tool."""
        return sha256(canonical([[it.name, it.description, it.parameters] for it in self.specs])).hexdigest()

    def get(self, name: str) -> Tool | None:
        return self.tools.get(name)

    def close_names(self, name: str) -> tuple[str, ...]:
        """Up to three names that the model may have meant."""
        return close_names(name, self.tools)


@dataclass(frozen=True, slots=True)
class Change:
    """What a registration did to the visible set. `shadowed` names tools that another provider's now covers."""

    version: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    shadowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Layer:
    tool: Tool
    provider: str
    priority: int
    reserved: bool
    order: int

    @property
    def rank(self) -> tuple[bool, int, int]:
        """A reserved layer is visible whatever came before or after it; else the priority, else the latest."""
        return self.reserved, self.priority, self.order


class Registry:
    """Layers per name: taking a provider away uncovers what it covered."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[_Layer, ...]] = {}
        self._order = 0
        self.version = 0

    def register(self, tool: Tool, *, priority: int = 0, reserved: bool = False) -> Change:
        """Push a layer for `tool.spec.provider`, whose own earlier layer of this name it replaces.

        Raises BadSpec, and NameConflict where another provider has reserved the name.
        """
        spec = tool.spec
        check_spec(spec)
        layers = self._layers.get(spec.name, ())
        others = tuple(layer for layer in layers if layer.provider != spec.provider)
        holder = next((layer.provider for layer in others if layer.reserved), None)
        if holder is not None:
            raise NameConflict(spec.name, holder)
        self._order += 1
        return self._put({spec.name: (*others, _Layer(tool, spec.provider, priority, reserved, self._order))})

    def unregister(self, name: str, provider: str) -> Change:
        """Take one provider's tool away; without one it changes nothing."""
        return self._put({name: tuple(it for it in self._layers.get(name, ()) if it.provider != provider)})

    def unregister_provider(self, provider: str) -> Change:
        """Take all its tools away; what they covered reappears."""
        return self._put(
            {name: tuple(it for it in layers if it.provider != provider) for name, layers in self._layers.items()}
        )

    def snapshot(self) -> Snapshot:
        visible = {name: _visible(layers).tool for name, layers in sorted(self._layers.items())}
        return Snapshot(self.version, MappingProxyType(visible))

    def _put(self, changed: Mapping[str, tuple[_Layer, ...]]) -> Change:
        before = {name: _visible(self._layers[name]) for name in changed if name in self._layers}
        for name, layers in changed.items():
            self._layers.pop(name, None)
            if layers:
                self._layers[name] = layers
        after = {name: _visible(self._layers[name]) for name in changed if name in self._layers}
        self.version += _specs(before) != _specs(after)
        return Change(
            self.version,
            added=tuple(sorted(after.keys() - before.keys())),
            removed=tuple(sorted(before.keys() - after.keys())),
            shadowed=tuple(sorted(name for name in after if _covers(after[name], before.get(name)))),
        )


def check_spec(spec: ToolSpec) -> None:
    """Raises BadSpec with the name of the tool and what is wrong with it."""
    if not _NAME.fullmatch(spec.name):
        raise BadSpec(f"{spec.name[:80]!r} is no tool name: letters, digits, _ . - and at most 64 of them")
    if len(spec.description.encode("utf-8", "replace")) > MAX_DESCRIPTION_BYTES:
        raise BadSpec(f"{spec.name}: the description has more than {MAX_DESCRIPTION_BYTES} bytes")
    if spec.pure and not spec.read_only:
        raise BadSpec(f"{spec.name}: a tool that changes state cannot be pure")
    if not spec.timeout_s > 0:
        raise BadSpec(f"{spec.name}: timeout_s must be positive")
    try:
        check_schema(spec.parameters)
    except BadSpec as error:
        raise BadSpec(f"{spec.name}: {error}") from None


def _visible(layers: tuple[_Layer, ...]) -> _Layer:
    return max(layers, key=lambda layer: layer.rank)


def _specs(layers: Mapping[str, _Layer]) -> dict[str, ToolSpec]:
    return {name: layer.tool.spec for name, layer in layers.items()}


def _covers(now: _Layer, before: _Layer | None) -> bool:
    return before is not None and now.provider != before.provider and now.order > before.order
