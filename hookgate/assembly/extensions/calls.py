"""Joins the tool calls that extensions make to the gateway that runs them, once there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookgate.assembly.extensions.tools import Covers, fits
from hookgate.protocol.values import Step, ToolResult, ToolSpec

if TYPE_CHECKING:
    from hookgate.hooks.zot.extension_calls import ExtensionCall
    from hookgate.loop.gateway import Gateway


class ToolCalls:
    """`gateway` is set before any chat is served, and so before any call can come."""

    def __init__(self, covers: Covers) -> None:
        self.gateway: Gateway | None = None
        self._covers = covers

    async def run(self, own_call: ExtensionCall) -> ToolResult:
        from hookgate.loop.extensions.extension_calls import run_extension_call

        if self.gateway is None:
            return ToolResult("hookgate is still starting", is_error=True)
        return await run_extension_call(self.gateway, self._shown, own_call)

    def _shown(self, step: Step, specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        return tuple(spec for spec in specs if fits(spec.provider, step, self._covers))
