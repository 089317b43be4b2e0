"""An intercept through the zot adapter beside a before_tool call of a hook: the same gate, the same kind of child."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter_ns

from benchmarks.cores import cores_apart
from benchmarks.echo import STEP, open_gate, plan, tool_call
from benchmarks.figures import Bar, Figure, Pair, Run, quantile
from hookgate.config import base_environment
from hookgate.hooks.gate import Gate
from hookgate.hooks.rules import Rules
from hookgate.hooks.zot.roster import Roster
from hookgate.hooks.zot.spec import ExtensionSpec, extension_plan
from hookgate.protocol.chat import Chat
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import ToolCall
from hookgate.protocol.zot.frames import Panel

CALLS = 2000
HERE = Path(__file__).parent
INTERCEPT = Bar("a tool call intercepted by a zot extension, p50", "the same by a hook, p50", "µs", 1.3)


class Nowhere:
    """A surface and a journal that nobody reads."""

    def note(self, extension: str, level: str, text: str, chat: Chat | None) -> None: ...

    def clear_notes(self, extension: str) -> None: ...

    def panel(self, extension: str, panel: Panel, chat: Chat | None) -> None: ...

    def panel_close(self, extension: str, panel_id: str) -> None: ...

    def submit(self, extension: str, text: str, chat: Chat | None) -> None: ...

    def submit_slash(self, extension: str, text: str, chat: Chat | None) -> None: ...

    def lines(self, lines: Sequence[bytes]) -> None: ...

    def host(self, text: str) -> None: ...


async def measure(run: Run) -> list[Figure]:
    command, call = (sys.executable, "-IS"), tool_call()
    hook = plan("echo", (*command, str(HERE / "hook_echo.py")), Rules(stages=frozenset({Stage.BEFORE_TOOL})))
    extension = extension_plan(_spec((*command, str(HERE / "zot_echo.py"))))
    pairs: list[Pair] = []
    with cores_apart() as part:
        async with open_gate([hook]) as hooked, open_gate([extension]) as extended:
            part()
            for _ in range(run.rounds):
                count = run.times(CALLS)
                pairs.append((await _asked(hooked, call, count), await _asked(extended, call, count)))
    return [INTERCEPT.judged(pairs)]


def _spec(command: tuple[str, ...]) -> ExtensionSpec:
    nowhere = Nowhere()
    return ExtensionSpec(
        name="echo",
        command=command,
        directory=str(HERE),
        environment=base_environment(),
        project_dir=str(HERE),
        provider="openai",
        model="m",
        zot_version="1",
        roster=Roster(nowhere, _offered),
        journal=nowhere,
    )


def _offered(extension: str, rank: int, tools: Sequence[Tool]) -> None:
    assert not tools, extension


async def _asked(gate: Gate, call: ToolCall, count: int) -> float:
    took: list[float] = []
    for _ in range(count):
        began = perf_counter_ns()
        await gate.before_tool(STEP, call)
        took.append((perf_counter_ns() - began) / 1000)
    return quantile(took, 0.5)
