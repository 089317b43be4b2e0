"""Hooks that stand before tools and let calls through when they fail, without anybody having said so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hookgate.protocol.hook.stages import Stage
from hookgate.sections import Config
from hookgate.sections.hooks import HookSection

if TYPE_CHECKING:
    from hookgate.assembly.app import Runtime


def failing_open(config: Config) -> Iterator[str]:
    """Names of hooks. Where the file says `continue`, somebody wants it so."""
    for name, section in config.hooks.processes.items():
        if section.mode == "enforce" and Stage.BEFORE_TOOL in section.intercept and not _decided(section):
            yield name


def open_guard(name: str) -> str:
    return f'{name}: lets calls through when it fails; `on_failure = "deny"` refuses them'


def open_guards(runtime: Runtime) -> tuple[str, ...]:
    """A line each; those that have brought tools of their own are asked for these, not to guard."""
    brings = {mount.name for mount in runtime.gate.mounts if mount.hook.declared.tools}
    return tuple(open_guard(name) for name in failing_open(runtime.settings.config) if name not in brings)


def _decided(section: HookSection) -> bool:
    if isinstance(section.on_failure, dict):
        return Stage.BEFORE_TOOL in section.on_failure
    return "on_failure" in section.model_fields_set
