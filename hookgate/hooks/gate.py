"""The gate: every hook, in order, at every stage. The only thing the loop knows about hooks.

One walk over the hooks (`_walk`) serves all interceptor stages; what an answer means is in `decision.py`. The gate
does not know how a hook is reached, nor what the loop does with its verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NoReturn

import trio

from hookgate.hooks import decision
from hookgate.hooks.asking import Asking
from hookgate.hooks.audit import Audits
from hookgate.hooks.chains import Chains
from hookgate.hooks.emitter import Emitter
from hookgate.hooks.offered import Offered
from hookgate.hooks.rules import Mount
from hookgate.hooks.stats import Stats
from hookgate.hooks.verdicts import Allowed, Answered, Denied
from hookgate.protocol.approval import Wish
from hookgate.protocol.errors import SessionAborted, TurnAborted
from hookgate.protocol.events.payloads import HookModified, ToolInjected
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer, Ask, Deny, Modify, Refuse, Respond
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.redacting import redacted
from hookgate.protocol.values import (
    Fault,
    Finished,
    LLMReply,
    LLMRequest,
    Step,
    ToolCall,
    ToolResult,
    ToolSpec,
)


class Gate:
    """Hooks can be exchanged at any time (`mount`). A walk under way goes on with the new ones: it asks a dropped
    hook no more, and it ends only where every hook that stands at that moment has been asked."""

    def __init__(
        self,
        providers: frozenset[str] = frozenset(),
        redactor: Redactor | None = None,
        spec_problem: Callable[[ToolSpec], str | None] = lambda _spec: None,
    ) -> None:
        self.events = Emitter(redactor)
        self._asking = Asking(self.events, self.redacted)
        self.audits = Audits(self._asking.ask)
        self._providers = providers
        self._offered = Offered(spec_problem, self.events.emit)
        self._redactor = redactor
        self._chains = Chains()

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """In the order in which they are asked."""
        return self._chains.mounts

    @property
    def stats(self) -> Mapping[str, Stats]:
        """How each hook has done, by its name."""
        return self._asking.stats

    def redacted(self, text: str) -> str:
        """As others may read it."""
        return text if self._redactor is None else self._redactor.text(text)

    def mount(self, mounts: Sequence[Mount]) -> None:
        """Replace all hooks at once."""
        self._chains = Chains(mounts)
        self._asking.mount(self.mounts)
        self.events.listen(self.mounts)

    def offered(self, step: Step, request: LLMRequest) -> LLMRequest:
        """With the tools that hooks have declared, where they match."""
        return self._offered.declared(self._chains.at(Stage.BEFORE_TOOL), step, request)

    # --- the five stages ---

    async def before_llm(self, step: Step, request: LLMRequest) -> LLMRequest:
        """The request as the hooks left it, the tools that hooks own included."""
        request = self.offered(step, request)
        subject = await self._passed(Question(Stage.BEFORE_LLM, step, request))
        assert isinstance(subject, LLMRequest)  # noqa: S101 - a patch never changes the kind of a value
        return subject

    async def after_llm(self, step: Step, reply: LLMReply) -> LLMReply:
        subject = await self._passed(Question(Stage.AFTER_LLM, step, reply))
        assert isinstance(subject, LLMReply)  # noqa: S101
        return subject

    async def after_tool(self, step: Step, finished: Finished) -> ToolResult:
        subject = await self._passed(Question(Stage.AFTER_TOOL, step, finished))
        assert isinstance(subject, Finished)  # noqa: S101
        return subject.result

    async def before_tool(
        self, step: Step, call: ToolCall, owners: Mapping[str, str] = MappingProxyType({})
    ) -> Allowed | Answered | Denied:
        """All hooks but the owner of the tool that the call is for by then, which answers in `answer_owned`."""
        walked = await self._walk(Question(Stage.BEFORE_TOOL, step, call), owners)
        call, mount = _call(walked.question), walked.mount
        if mount is None:
            return Allowed(call)
        if isinstance(walked.answer, Respond):
            return self._answered(walked.question, mount, walked.answer)
        return Denied(call, decision.denial(mount.name, walked.answer))

    async def approve_tool(self, step: Step, call: ToolCall) -> ToolResult | tuple[Wish, ...]:
        """The refusing result, or who wants a person asked; an empty tuple: approved, or nobody to ask."""
        question = Question(Stage.APPROVE_TOOL, step, call)
        self._audit(question)
        approvers = [m for m in self._chains.matching(question) if m.enforces and m.stands_at(question.stage)]
        answers: dict[str, Answer] = {}
        if len(approvers) == 1:
            answers[approvers[0].name] = await self._asking.ask(approvers[0], question)
        elif approvers:
            await self._ask_together(approvers, question, answers)
        for name, answer in answers.items():
            if isinstance(answer, Refuse):
                return decision.refusal(f"hook:{name}", answer.reason)
        return tuple(_wish(m, a) for m in approvers if isinstance(a := answers[m.name], Ask))

    async def answer_owned(self, step: Step, call: ToolCall, spec: ToolSpec) -> ToolResult:
        """Run an injected tool: its owner's before_tool, with the tool's own timeout, must respond."""
        mount = next((m for m in self._chains.at(Stage.BEFORE_TOOL) if m.name == spec.owner), None)
        if mount is None:
            return _unanswered(spec.owner, "takes no before_tool calls")
        answer = await self._asking.ask(mount, Question(Stage.BEFORE_TOOL, step, call), spec.timeout_s)
        match answer:
            case Respond(result=result):
                return result
            case Deny():
                return decision.denial(mount.name, answer)
            case Abort():
                _abort(mount, Stage.BEFORE_TOOL, answer)
            case _:
                return _unanswered(spec.owner, "did not respond to the call of its own tool")

    def holds_text(self, step: Step, model: str) -> bool:
        """Whether a hook may still change what the model says, so that nobody may read along."""
        return any(
            mount.enforces
            and mount.stands_at(Stage.AFTER_LLM)
            and (mount.rules.may_modify is None or "content" in mount.rules.may_modify)
            and mount.rules.match.matches(step, "", model)
            for mount in self._chains.at(Stage.AFTER_LLM)
        )

    # --- the walk ---

    async def _passed(self, question: Question) -> object:
        return (await self._walk(question)).question.subject

    async def _walk(self, question: Question, owners: Mapping[str, str] = MappingProxyType({})) -> _Walked:
        """Ask each matching hook what its predecessors left.

        A hook that did not match a call's first name but matches the one it was renamed to is asked too: a rename
        must not slip past a guard. Each hook is asked at most once, but for hookgate's own guards (`_judged_again`),
        and before a tool those that are another program or under other rules by now: that has not judged the call.
        """
        if not self._chains.at(question.stage):
            return _Walked(question)
        self._audit(question)
        asked, first, stage = dict[str, _Asked](), question, question.stage
        while True:
            chains, seen, owner = self._chains, question, owners.get(question.tool) if owners else None
            for mount in chains.matching(question):
                if mount.name == owner or not (mount.enforces and mount.stands_at(stage)):
                    continue
                if (before := asked.get(mount.name)) is not None and before.stands(mount, stage):
                    continue
                asked[mount.name] = _Asked(mount, question)
                answer = await self._asking.ask(mount, question)
                if answer is not CONTINUE:
                    question, last = self._followed(mount, question, answer)
                    if isinstance(last, Respond) and self._chains is not chains:
                        # It stands for the execution, so those who came meanwhile judge the call first.
                        del asked[mount.name]
                    elif last is not None:
                        return _Walked(question, mount, last)
                if question is not seen or self._chains is not chains:
                    # The call may have another name, or a hook another process, than when the walk began.
                    break
            else:
                changed = question is not first and stage is Stage.BEFORE_TOOL
                walked = await self._judged_again(question, asked) if changed else _Walked(question)
                if walked.mount is not None or self._chains is chains:
                    return walked
                question = walked.question

    async def _judged_again(self, question: Question, asked: Mapping[str, _Asked]) -> _Walked:
        """hookgate's own guards come before all hooks, so they have not seen what the hooks made of a call."""
        for mount in self._chains.matching(question):
            before = asked.get(mount.name)
            unseen = mount.rules.inside and (before is None or before.question is not question)
            if not (unseen and mount.enforces and mount.stands_at(question.stage)):
                continue
            question, last = self._followed(mount, question, await self._asking.ask(mount, question))
            if last is not None:
                return _Walked(question, mount, last)
        return _Walked(question)

    def _followed(self, mount: Mount, question: Question, answer: Answer) -> tuple[Question, Respond | Deny | None]:
        """What the next hook is asked, and the answer if it ends the walk."""
        if isinstance(answer, Modify):
            question, answer = self._modified(mount, question, answer)
        match answer:
            case Abort():
                _abort(mount, question.stage, answer)
            case Deny() if isinstance(question.subject, Finished):
                withheld = decision.withheld(question.subject, mount.name, answer.reason)
                return replace(question, subject=withheld), None
            case Respond() | Deny():
                return question, answer
            case _:
                return question, None

    def _audit(self, question: Question) -> None:
        if not self._chains.audited:
            return
        for mount in self._chains.matching(question):
            if mount.rules.mode == "audit" and mount.stands_at(question.stage):
                self.audits.put(mount, question)

    async def _ask_together(self, approvers: list[Mount], question: Question, answers: dict[str, Answer]) -> None:
        """The first refusal cancels the rest."""

        async def ask(mount: Mount) -> None:
            answers[mount.name] = answer = await self._asking.ask(mount, question)
            if isinstance(answer, Refuse):
                nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            for mount in approvers:
                nursery.start_soon(ask, mount)

    def _modified(self, mount: Mount, question: Question, answer: Modify) -> tuple[Question, Answer]:
        author = decision.Author(mount.name, mount.rules.may_modify, self._providers)
        try:
            subject, names = decision.modified(question.subject, answer.changes, author)
        except ValueError as error:
            return question, self._asking.unusable(mount, question, str(error))
        self._asking.usable(mount, question.stage)
        if not names:
            return question, CONTINUE
        if isinstance(question.subject, LLMRequest) and isinstance(subject, LLMRequest):
            subject = self._offered.usable(mount, question, subject)
        if isinstance(subject, Finished) and self._redactor is not None:
            # The next hook sees what the last one wrote as everybody does.
            subject = replace(subject, result=redacted(self._redactor, subject.result))
        after = replace(question, subject=subject)
        self._announce(mount, question, after, names)
        return after, CONTINUE

    def _answered(self, question: Question, mount: Mount, answer: Respond) -> Answered:
        call = replace(_call(question), **answer.call)
        self.events.emit(HookModified(mount.name, question.stage, ("result",), _call(question).name), question.step)
        return Answered(_call(question), call, answer.result, mount.name, mount.rules.may_respond_unapproved)

    # --- what others hear ---

    def _announce(self, mount: Mount, before: Question, after: Question, names: tuple[str, ...]) -> None:
        old, new = before.subject, after.subject
        if isinstance(old, LLMRequest) and isinstance(new, LLMRequest):
            for tool in decision.injected(old, new):
                self.events.emit(ToolInjected(mount.name, tool), before.step)
            if decision.system_changed(old, new):
                names = (*names, "system")
        self.events.emit(HookModified(mount.name, before.stage, names, before.tool or None), before.step)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A hook as it was when it was asked in this walk, and what it was asked."""

    mount: Mount
    question: Question

    def stands(self, mount: Mount, stage: Stage) -> bool:
        """Whether that is enough of what the hook is by now. A change of a request or a result is made once."""
        return stage is not Stage.BEFORE_TOOL or mount.judges_like(self.mount)


_NOTHING = Deny("")


@dataclass(slots=True)
class _Walked:
    """Where a walk ended: the last question, and the hook whose answer ended it early, if one did."""

    question: Question
    mount: Mount | None = None
    answer: Respond | Deny = _NOTHING


def _call(question: Question) -> ToolCall:
    assert isinstance(question.subject, ToolCall)  # noqa: S101 - before_tool asks about calls only
    return question.subject


def _abort(mount: Mount, stage: Stage, answer: Abort) -> NoReturn:
    error = SessionAborted if answer.hard else TurnAborted
    raise error(mount.name, stage, answer.reason)


def _wish(mount: Mount, ask: Ask) -> Wish:
    return Wish(f"hook:{mount.name}", ask.title, ask.text, ask.approvers, ask.ttl_s)


def _unanswered(hook: str, what: str) -> ToolResult:
    reason = f"hook {hook} {what}"
    return ToolResult(f"ERROR (fatal) {hook}: {reason}", is_error=True, error=Fault("fatal", hook, reason))
