"""How far it is from a message to the tool that it runs, in frames of hookgate's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from hookgate.loop.calls.execution_policy import Around, Compare
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from tests.loop.recording import CHAT, Bench, FunctionTool, asks_for, says

MOST = 12


class Pure(FunctionTool):
    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, "", self.parameters, mutates=False, affects_workspace=False, pure=True)


def frames() -> list[str]:
    """Those of hookgate in this task, the outermost first."""
    found: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("hookgate."):
            found.insert(0, f"{module}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return found


async def watch(_call: ToolCall) -> Compare:
    async def compared(result: ToolResult) -> ToolResult:
        return result

    return compared


@pytest.mark.parametrize("kind", [FunctionTool, Pure])
async def test_a_tool_is_few_frames_from_the_message_that_it_runs_for(kind: Callable[..., FunctionTool]) -> None:
    crossed: list[str] = []

    async def run(_call: ToolCall) -> str:
        crossed.extend((*frames(), "the tool's execute"))
        return "done"

    around = Around(watches=(watch, watch))
    bench = Bench(asks_for("it"), says("ok"), tools=[kind("it", run)], around=around)
    jobs = bench.gateway.session(CHAT).jobs
    wake = jobs.wake

    def queued() -> None:
        crossed.extend(frames())
        wake()

    jobs.wake = queued
    assert await bench.play() == ["ok"]
    assert crossed[0].endswith("Gateway.receive")
    assert len(crossed) <= MOST, "\n".join(("more frames than a reader expects:", *crossed))
