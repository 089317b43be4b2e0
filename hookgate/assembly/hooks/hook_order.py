"""The hooks that a configuration leads to, in the order in which they are asked. Starts none of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hookgate import config as configuration
from hookgate.assembly.extensions.extensions import Extensions, Joints
from hookgate.assembly.hooks.guards import guard_mounts
from hookgate.assembly.hooks.opening import plans
from hookgate.assembly.settings import ExtensionFlags
from hookgate.extensions.discovery import FoundExtensions
from hookgate.hooks.children.mounts import Plan
from hookgate.hooks.rules import Mount, Rules
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.zot.names import EXTENSION
from hookgate.sections import Config
from hookgate.tools.registry import Registry


@dataclass(frozen=True)
class Link:
    """One hook. `rank`: an extension's place in the load order; it says only in its handshake where it stands."""

    name: str
    rules: Rules
    state: str = "not started"
    command: tuple[str, ...] = ()
    rank: int | None = None

    @property
    def order(self) -> tuple[bool, int, str]:
        """As in the gate: guards, then by priority; at the same one extensions first, in load order."""
        place = self.name if self.rank is None else f"\0{self.rank:06}"
        return (not self.rules.inside, self.rules.priority, place)


def guard_link(mount: Mount) -> Link:
    return Link(mount.name, mount.rules, "built in")


@dataclass(frozen=True)
class Chain:
    """`links` as they would be asked; `out`: what is configured or found and stands nowhere, with the reason."""

    links: tuple[Link, ...]
    out: Mapping[str, str]


def chain(config: Config, base: Path) -> Chain:
    """Guards, hook processes, and the extensions that a chat would load. Raises ConfigError."""
    workspace = configuration.workspace_folder(config)
    guards = [guard_link(mount) for mount in guard_mounts(config.guards, workspace, lambda _name: None)]
    extensions = Extensions(config, ExtensionFlags(discover=True), Joints(Registry(), ()))
    links = [*guards, *map(_planned, (*plans(config, base), *extensions.plans))]
    out = {name: "its mode is off" for name, it in config.hooks.processes.items() if it.mode == "off"}
    return Chain(tuple(sorted(links, key=lambda link: link.order)), out | _absent(config, extensions.found))


def _planned(plan: Plan) -> Link:
    return Link(plan.name, plan.rules, command=tuple(plan.spec.command), rank=plan.rank)


def _absent(config: Config, found: FoundExtensions) -> dict[str, str]:
    sections = config.zot.extensions
    enabled = {it.name: it.name not in sections or sections[it.name].enabled for it in found.candidates}
    off = {name: "the configuration does not enable it" for name, on in enabled.items() if not on}
    disabled = {it.name: "its manifest does not enable it" for it in found.disabled}
    strangers = {it.entry.name: "it is not trusted" for it in found.strangers}
    broken = {it.directory.name: it.reason for it in found.problems}
    return {f"{EXTENSION}{name}": why for name, why in (broken | disabled | strangers | off).items()}
