"""Real children for the tests of hooks: how one is started, asked, and proven to be gone."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from hookgate.hooks.children.process import HookProcess, ProcessSpec, open_process
from hookgate.processes.rounds import open_rounds
from hookgate.protocol.hook.answers import Answer, Respond
from hookgate.protocol.hook.stages import BEYOND_V1, Question, Stage
from hookgate.protocol.interfaces import Hook
from hookgate.protocol.values import ToolCall
from tests.hooks.doubles import STEP
from tests.processes import living as living
from tests.processes import until as until

PROGRAM = str(Path(__file__).parent.parent / "children" / "hook.py")
DEADLINE_S = 20.0
"""For each wait; generous because a busy machine starts an interpreter slowly."""
ALL = frozenset(Stage) - BEYOND_V1


def spec(mode: str = "plain", hello: Any = None, **changes: Any) -> ProcessSpec:
    """A child in one of the modes of `children/hook.py`; `hello` is what it answers there."""
    says = [] if hello is None else [json.dumps(hello)]
    members: dict[str, Any] = {
        "name": "child",
        "command": (sys.executable, "-S", "-E", PROGRAM, mode, *says),
        "directory": str(Path(PROGRAM).parent),
        "environment": {"PATH": "/usr/bin:/bin"},
        "stages": ALL,
        "observes": True,
    }
    return ProcessSpec(**{**members, **changes})


def question(do: str, stage: Stage = Stage.BEFORE_TOOL, **arguments: Any) -> Question:
    return Question(stage, STEP, ToolCall("c1", "bash", {"do": do, **arguments}))


async def ask(hook: Hook, do: str, timeout_s: float = DEADLINE_S, **arguments: Any) -> Answer:
    with trio.fail_after(DEADLINE_S + 5):
        return await hook.ask(question(do, **arguments), timeout_s)


async def told(hook: Hook, do: str, **arguments: Any) -> Any:
    """The value that the child tells as the text of a result."""
    answer = await ask(hook, do, **arguments)
    assert isinstance(answer, Respond), answer
    return json.loads(answer.result.for_llm)


async def alive(child: HookProcess) -> None:
    """The child still answers."""
    assert await told(child, "where") is not None


@asynccontextmanager
async def open_child(mode: str = "plain", hello: Any = None, **changes: Any) -> AsyncGenerator[HookProcess]:
    """A child that has said hello; after leaving, its whole group is gone."""
    async with open_rounds() as rounds:
        async with open_process(spec(mode, hello, **changes), rounds) as child:
            group = child.pid
            yield child
        await gone(group)


async def gone(*groups: int) -> None:
    """Until the last of each group is."""
    await until(lambda: not any(map(living, groups)))
