"""Hooks made of functions, and the turn they are asked about: what the gate's tests have in common."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import trio
from trio.testing import wait_all_tasks_blocked

from hookgate.hooks.gate import Gate
from hookgate.hooks.inside import InsideHook, Judge
from hookgate.hooks.rules import Mount, Rules
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.hook.answers import CONTINUE, Answer
from hookgate.protocol.hook.match import Globs, Matcher, Observed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import LLMRequest, Message, Step, ToolCall, ToolSpec

CHAT = Chat("telegram", "-42", sender="501", chat_type="group")
STEP = Step("main", "main-turn-1", Inbound(CHAT, "hi"), model="openai/gpt")
CALL = ToolCall("c1", "bash", {"command": "ls"})
BASH = ToolSpec("bash", "runs", {"type": "object"})
REQUEST = LLMRequest("openai/gpt", (Message("system", "s"), Message("user", "hi")), (BASH,))


@dataclass
class Asked:
    """Which hooks were asked about what, in order."""

    questions: list[tuple[str, Question]] = field(default_factory=list[tuple[str, Question]])

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.questions]

    def saying(self, name: str, answer: Answer | Callable[[Question], Answer] = CONTINUE) -> Judge:
        async def judge(question: Question) -> Answer:
            self.questions.append((name, question))
            await trio.lowlevel.checkpoint()
            return answer(question) if callable(answer) else answer

        return judge


def hook(name: str, judge: Judge, *stages: Stage, rules: Rules | None = None) -> Mount:
    """Asked at these stages (before_tool if none is named), beside what `rules` says."""
    at = frozenset(stages or {Stage.BEFORE_TOOL})
    return Mount(InsideHook(name, dict.fromkeys(at, judge)), replace(rules or Rules(), stages=at))


def sink(events: list[Event], *patterns: str) -> Mount:
    return Mount(InsideHook("~sink", hear=events.append), Rules(observe=Observed(patterns or ("*",))))


def matching(**criteria: str) -> Matcher:
    return Matcher({name: Globs((glob,)) for name, glob in criteria.items()})


def gate_of(*mounts: Mount, providers: frozenset[str] = frozenset()) -> Gate:
    gate = Gate(providers)
    gate.mount(mounts)
    return gate


@asynccontextmanager
async def auditing(gate: Gate) -> AsyncGenerator[None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gate.audits.run)
        await wait_all_tasks_blocked()
        yield
        nursery.cancel_scope.cancel()


async def never(_question: Question) -> Answer:
    await trio.sleep_forever()
    raise AssertionError
