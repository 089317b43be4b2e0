"""A hook's own process, asked as the gate would ask it, with nobody else in the chain.

Whether the gate would ask it at all is in its rules; what its answer counts for is in `verdict.py`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field
from time import perf_counter_ns

from hookgate.hooks.children.mounts import Plan
from hookgate.hooks.children.process import HookProcess, ProcessSpec, open_process
from hookgate.processes.child import HelloFailed, Late
from hookgate.processes.pipes import TakeLines
from hookgate.processes.rounds import open_rounds
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.answers import Answer, Failed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import LLMRequest, ToolSpec
from hookgate.rehearsal.questions import request_of
from hookgate.rehearsal.verdict import Verdict, judge, judge_owned, unasked, unasked_owner


@dataclass(frozen=True)
class Telling:
    """What hears the lines that the hook says to people, and, once, that it has not said hello for LATE_S,
    and why that may be."""

    stderr: TakeLines
    late: Late


@dataclass(frozen=True)
class TimedVerdict:
    """`duration_ns`: from the question to the answer, or to why there is none; 0: it was not asked."""

    verdict: Verdict
    duration_ns: int = 0


@dataclass(frozen=True)
class Subject:
    """One process of a hook, or why there is none. `plan`: as it is configured, or as its command line alone is
    taken; `taken`: names of tools that hookgate has itself, which stand before any that a hook brings; `added`: the
    tools that it has put into requests so far."""

    plan: Plan
    process: HookProcess | None
    absent: str = ""
    taken: frozenset[str] = frozenset()
    added: dict[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])

    @property
    def gone(self) -> str:
        """Why it answers no more; empty: it does."""
        if self.process is None:
            return self.absent
        return self.process.end_reason if self.process.ended.is_set() else ""

    def unasked(self, question: Question) -> str:
        """Why the gate would not ask it this; empty: it would."""
        tool = "" if self.owned(question) else question.tool
        mismatch = self.plan.rules.match.mismatch(question.step, tool, question.model)
        return self._elsewhere(question.stage) or mismatch or ""

    def _elsewhere(self, stage: Stage) -> str:
        """Why it does not stand at a stage; empty: it does."""
        stages = self.plan.rules.stages
        if stage not in stages:
            return f"{stage} is not in its intercept"
        if self.process is not None and stage not in self.process.declared.standing(stages):
            return f"it does not name {stage} in its hello"
        return ""

    def owned(self, question: Question) -> ToolSpec | None:
        """The tool of its own that this is a call of; a gateway offers none of a hook that only watches."""
        if self.process is None or self.plan.rules.mode != "enforce" or question.stage is not Stage.BEFORE_TOOL:
            return None
        return None if question.tool in self.taken else self.brought(question.tool)

    def brought(self, tool: str) -> ToolSpec | None:
        """What it says of a tool, in its hello or in a request so far."""
        declared = () if self.process is None else self.process.declared.tools
        return next((spec for spec in declared if spec.name == tool), self.added.get(tool))

    async def learn(self, question: Question) -> None:
        """As in a gateway it sees a request before a call: the tool may be one that it adds there."""
        if question.stage is Stage.BEFORE_TOOL and not self.owned(question):
            await self.ask(request_of(question.step))

    async def ask(self, question: Question) -> TimedVerdict:
        """What it says, and what that counts for; one that is not there fails, as in a gateway."""
        if why := self.unasked(question):
            lost = self.owned(question) and self._elsewhere(question.stage)
            return TimedVerdict(unasked_owner(self.plan.name, question) if lost else unasked(question, why))
        began = perf_counter_ns()
        answer = await self.answer(question)
        took = perf_counter_ns() - began
        weigh = judge_owned if self.owned(question) else judge
        verdict = weigh(self.plan.name, self.plan.rules, question, answer)
        if isinstance(verdict.after, LLMRequest):
            self.added.update({spec.name: spec for spec in verdict.after.tools if spec.owner == self.plan.name})
        return TimedVerdict(verdict, took)

    async def answer(self, question: Question) -> Answer:
        if self.process is None:
            return Failed(self.absent)
        own = self.owned(question)
        return await self.process.ask(question, own.timeout_s if own else self.plan.rules.timeouts[question.stage])


@asynccontextmanager
async def open_subject(plan: Plan, telling: Telling, taken: frozenset[str]) -> AsyncGenerator[Subject]:
    """Started and introduced, or with the reason why not. Leaving stops its whole process group and reaps it."""
    assert isinstance(plan.spec, ProcessSpec)  # noqa: S101 - extensions have another wire
    async with open_rounds() as rounds, AsyncExitStack() as stack:
        try:
            opening = open_process(plan.spec, rounds, telling.stderr, telling.late)
            process = await stack.enter_async_context(opening)
        except HelloFailed as error:
            yield Subject(plan, None, str(error), taken)
            return
        yield Subject(plan, process, taken=taken)
