"""Joins the tool calls that extensions make to the gateway that runs them, once there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookgate.assembly.extensions.tools import Covers, fits
from hookgate.protocol.values import Step, ToolResult, ToolSpec

if TYPE_CHECKING:
    from hookgate.hooks.zot.errands import Errand
    from hookgate.loop.gateway import Gateway


class ToolCalls:
    """`gateway` is set before any chat is served, and so before any call can come."""

    def __init__(self, covers: Covers) -> None:
        self.gateway: Gateway | None = None
        self._covers = covers

    async def run(self, errand: Errand) -> ToolResult:
        from hookgate.loop.extensions.extension_calls import run_errand

        if self.gateway is None:
            return ToolResult("hookgate is still starting", is_error=True)
        return await run_errand(self.gateway, self._shown, errand)

    def _shown(self, step: Step, specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        return tuple(spec for spec in specs if fits(spec.provider, step, self._covers))
