"""Real extensions for the tests: how one is started, called, intercepted, and what it showed."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from hookgate.hooks.zot.extension import ZotExtension
from hookgate.hooks.zot.roster import Roster
from hookgate.hooks.zot.spec import ExtensionSpec
from hookgate.hooks.zot.start import open_extension
from hookgate.processes.rounds import open_rounds
from hookgate.protocol.chat import Chat
from hookgate.protocol.hook.answers import Answer
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import LLMReply, LLMRequest, Message, ToolCall, ToolResult
from hookgate.protocol.zot.frames import Panel
from tests.hooks.doubles import STEP
from tests.hooks.processes import DEADLINE_S, gone

PROGRAM = str(Path(__file__).parents[2] / "children" / "zot_ext.py")
REQUEST = LLMRequest("openai/gpt", (Message("system", "be kind"), Message("user", "hi")))
Shown = list[tuple[Any, ...]]


class Screen:
    """Everything that was to be shown, in order."""

    def __init__(self) -> None:
        self.shown: Shown = []

    def note(self, extension: str, level: str, text: str, chat: Chat | None) -> None:
        self.shown.append(("note", extension, level, text, chat))

    def clear_notes(self, extension: str) -> None:
        self.shown.append(("clear", extension))

    def panel(self, extension: str, panel: Panel, chat: Chat | None) -> None:
        self.shown.append(("panel", extension, panel, chat))

    def panel_close(self, extension: str, panel_id: str) -> None:
        self.shown.append(("panel_close", extension, panel_id))

    def submit(self, extension: str, text: str, chat: Chat | None) -> None:
        self.shown.append(("submit", extension, text, chat))

    def submit_slash(self, extension: str, text: str, chat: Chat | None) -> None:
        self.shown.append(("submit_slash", extension, text, chat))


class Journal:
    def __init__(self) -> None:
        self.stderr: list[bytes] = []
        self.said: list[str] = []

    def lines(self, lines: Sequence[bytes]) -> None:
        self.stderr.extend(lines)

    def host(self, text: str) -> None:
        self.said.append(text)


@dataclass
class Theatre:
    """What extensions of one test have in common."""

    screen: Screen = field(default_factory=Screen)
    journal: Journal = field(default_factory=Journal)
    offers: list[tuple[str, int, tuple[str, ...]]] = field(default_factory=list[tuple[str, int, tuple[str, ...]]])
    tools: dict[str, dict[str, Tool]] = field(default_factory=dict[str, dict[str, Tool]])

    def __post_init__(self) -> None:
        self.roster = Roster(self.screen, self._offer)

    def _offer(self, extension: str, rank: int, tools: Sequence[Tool]) -> None:
        self.offers.append((extension, rank, tuple(tool.spec.name for tool in tools)))
        self.tools[extension] = {tool.spec.name: tool for tool in tools}

    def spec(self, mode: str = "plain", more: Any = None, **changes: Any) -> ExtensionSpec:
        """An extension in one of the modes of `children/zot_ext.py`; `more` is its second argument."""
        says = [] if more is None else [json.dumps(more)]
        members: dict[str, Any] = {
            "name": "ext",
            "command": (sys.executable, "-S", "-E", PROGRAM, mode, *says),
            "directory": str(Path(PROGRAM).parent),
            "environment": {"PATH": "/usr/bin:/bin", "ZOT_HOME": "/zot"},
            "project_dir": "/project",
            "provider": "openai",
            "model": "gpt",
            "zot_version": "0.1",
            "roster": self.roster,
            "journal": self.journal,
        }
        return ExtensionSpec(**{**members, **changes})


@asynccontextmanager
async def open_ext(
    mode: str = "plain", more: Any = None, theatre: Theatre | None = None, **changes: Any
) -> AsyncGenerator[ZotExtension]:
    """A ready extension; after leaving, its whole group is gone."""
    spec = (theatre or Theatre()).spec(mode, more, **changes)
    async with open_rounds() as rounds:
        async with open_extension(spec, rounds) as extension:
            group = extension.pid
            yield extension
        await gone(group)


async def run(extension: ZotExtension, do: str, **arguments: Any) -> ToolResult:
    """Execute its tool `do`."""
    tool = next(tool for tool in extension.tools if tool.spec.name == "do")
    with trio.fail_after(DEADLINE_S):
        return await tool.execute(ToolCall("c1", "do", {"do": do, **arguments}))


async def told(extension: ZotExtension, do: str, **arguments: Any) -> Any:
    result = await run(extension, do, **arguments)
    assert not result.is_error, result
    return json.loads(result.for_llm)


async def received(extension: ZotExtension, *types: str) -> list[dict[str, Any]]:
    """Frames of these types, all without any, as the extension got them by now."""
    frames: list[dict[str, Any]] = await told(extension, "received")
    return [frame for frame in frames if not types or frame["type"] in types]


async def judged(extension: ZotExtension, answer: Any, timeout_s: float = DEADLINE_S, **arguments: Any) -> Answer:
    """Its verdict on a call; `answer` is what it shall say."""
    call = ToolCall("c1", "bash", {"answer": answer, **arguments})
    with trio.fail_after(DEADLINE_S + 5):
        return await extension.ask(Question(Stage.BEFORE_TOOL, STEP, call), timeout_s)


async def asked(extension: ZotExtension, subject: LLMRequest | LLMReply, timeout_s: float = DEADLINE_S) -> Answer:
    stage = Stage.BEFORE_LLM if isinstance(subject, LLMRequest) else Stage.AFTER_LLM
    with trio.fail_after(DEADLINE_S + 5):
        return await extension.ask(Question(stage, STEP, subject), timeout_s)
