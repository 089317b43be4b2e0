"""The gate: every hook, in order, at every stage. The only thing the loop knows about hooks.

One walk over the hooks (`_walk`) serves all interceptor stages; what an answer means is in `decision.py`. The gate
does not know how a hook is reached, nor what the loop does with its verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from types import MappingProxyType
from typing import NoReturn

import structlog
import trio

from hookgate.hooks import decision
from hookgate.hooks.audit import Audits
from hookgate.hooks.emitter import Emitter
from hookgate.hooks.offered import Offered
from hookgate.hooks.rules import Mount
from hookgate.hooks.stats import Stats
from hookgate.protocol.answers import CONTINUE, Abort, Answer, Ask, Continue, Deny, Failed, Modify, Refuse, Respond
from hookgate.protocol.approval import Wish
from hookgate.protocol.errors import SessionAborted, TurnAborted
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.payloads import GateDecision, HookFailed, HookModified, ToolInjected
from hookgate.protocol.redacting import redacted
from hookgate.protocol.stages import Question, Stage
from hookgate.protocol.values import (
    Chat,
    Fault,
    Finished,
    LLMReply,
    LLMRequest,
    Step,
    ToolCall,
    ToolResult,
    ToolSpec,
)

MAX_KNOWN_MATCHES = 4096

log = structlog.get_logger("hookgate.hooks")


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call as the hooks left it, for approval and execution."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Answered:
    """A hook gave the result itself. `judged` is the call it was asked about, `call` what its answer says was called;
    `unapproved`: the answer counts although an approval rule matches the tool."""

    judged: ToolCall
    call: ToolCall
    result: ToolResult
    hook: str
    unapproved: bool


@dataclass(frozen=True, slots=True)
class Denied:
    call: ToolCall
    result: ToolResult


class Gate:
    """Hooks can be exchanged at any time (`mount`). A stage call under way asks an exchanged hook in its new form, a
    dropped one no more, and a new one not yet."""

    def __init__(
        self,
        providers: frozenset[str] = frozenset(),
        redactor: Redactor | None = None,
        spec_problem: Callable[[ToolSpec], str | None] = lambda _spec: None,
    ) -> None:
        self.events = Emitter(redactor)
        self.audits = Audits(self._ask)
        self.stats: dict[str, Stats] = {}
        self.mounts: tuple[Mount, ...] = ()
        self._providers = providers
        self._offered = Offered(spec_problem, self.events.emit)
        self._redactor = redactor
        self._chains: dict[Stage, tuple[Mount, ...]] = dict.fromkeys(Stage, ())
        self._matches: dict[tuple[Stage, Chat, str, str, str], tuple[Mount, ...]] = {}

    def mount(self, mounts: Sequence[Mount]) -> None:
        """Replace all hooks at once."""
        self.mounts = tuple(sorted(mounts, key=lambda mount: mount.order))
        self._chains = {
            stage: tuple(mount for mount in self.mounts if stage in mount.rules.stages) for stage in Stage
        }
        self._matches = {}
        self.stats = {mount.name: self.stats.get(mount.name, Stats()) for mount in self.mounts}
        self.events.listen(self.mounts)

    # --- the five stages ---

    async def before_llm(self, step: Step, request: LLMRequest) -> LLMRequest:
        """The request as the hooks left it, the tools that hooks own included."""
        request = self._offered.declared(self._chains[Stage.BEFORE_TOOL], step, request)
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
        matching = self._matching(question)
        self._audit(question, matching)
        approvers = [m for m in matching if m.enforces and m.stands_at(question.stage)]
        answers: dict[str, Answer] = {}
        if len(approvers) == 1:
            answers[approvers[0].name] = await self._ask(approvers[0], question)
        elif approvers:
            await self._ask_together(approvers, question, answers)
        for name, answer in answers.items():
            if isinstance(answer, Refuse):
                return decision.refusal(f"hook:{name}", answer.reason)
        return tuple(_wish(m, a) for m in approvers if isinstance(a := answers[m.name], Ask))

    async def answer_owned(self, step: Step, call: ToolCall, spec: ToolSpec) -> ToolResult:
        """Run an injected tool: its owner's before_tool, with the tool's own timeout, must respond."""
        mount = next((m for m in self._chains[Stage.BEFORE_TOOL] if m.name == spec.owner), None)
        if mount is None:
            return _unanswered(spec.owner, "takes no before_tool calls")
        answer = await self._ask(mount, Question(Stage.BEFORE_TOOL, step, call), spec.timeout_s)
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
            for mount in self._chains[Stage.AFTER_LLM]
        )

    # --- the walk ---

    async def _passed(self, question: Question) -> object:
        return (await self._walk(question)).question.subject

    async def _walk(self, question: Question, owners: Mapping[str, str] = MappingProxyType({})) -> _Walked:
        """Ask each matching hook what its predecessors left.

        A hook that did not match a call's first name but matches the one it was renamed to is asked too: a rename
        must not slip past a guard. Each hook is asked at most once.
        """
        if not self._chains[question.stage]:
            return _Walked(question)
        matching, known, seen, asked = self._matching(question), self._matches, question, set[str]()
        owner = owners.get(question.tool, "")
        self._audit(question, matching)
        while (mount := _first(matching, asked, owner, question.stage)) is not None:
            asked.add(mount.name)
            answer = await self._ask(mount, question)
            if isinstance(answer, Modify):
                question, answer = self._modified(mount, question, answer)
            if answer is not CONTINUE:
                if isinstance(answer, Abort):
                    _abort(mount, question.stage, answer)
                if isinstance(answer, Deny) and isinstance(question.subject, Finished):
                    withheld = decision.withheld(question.subject, mount.name, answer.reason)
                    question = replace(question, subject=withheld)
                elif isinstance(answer, (Respond, Deny)):
                    return _Walked(question, mount, answer)
            if question is not seen or self._matches is not known:
                # The call may have another name, or a hook another process, than when the walk began.
                matching, known, seen = self._matching(question), self._matches, question
                owner = owners.get(question.tool, "")
        return _Walked(question)

    def _audit(self, question: Question, matching: tuple[Mount, ...]) -> None:
        for mount in matching:
            if mount.rules.mode == "audit" and mount.stands_at(question.stage):
                self.audits.put(mount, question)

    def _matching(self, question: Question) -> tuple[Mount, ...]:
        """The hooks of a stage whose match covers the question: the same for every call of a chat to a tool."""
        if not self._chains[question.stage]:
            return ()
        step = question.step
        key = (question.stage, step.chat, question.tool, question.model, step.agent)
        known = self._matches.get(key)
        if known is None:
            if len(self._matches) >= MAX_KNOWN_MATCHES:
                self._matches.clear()
            covers = (m for m in self._chains[question.stage] if m.covers(question))
            known = self._matches[key] = tuple(covers)
        return known

    async def _ask_together(self, approvers: list[Mount], question: Question, answers: dict[str, Answer]) -> None:
        """The first refusal cancels the rest."""

        async def ask(mount: Mount) -> None:
            answers[mount.name] = answer = await self._ask(mount, question)
            if isinstance(answer, Refuse):
                nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            for mount in approvers:
                nursery.start_soon(ask, mount)

    async def _ask(self, mount: Mount, question: Question, timeout_s: float | None = None) -> Answer:
        """One hook's answer, timed, recorded, a failure already turned into what its policy makes of it."""
        stage = question.stage
        started = perf_counter_ns()
        answer = decision.fitting(stage, await mount.hook.ask(question, timeout_s or mount.rules.timeout(stage)))
        duration_ns = perf_counter_ns() - started
        failed = isinstance(answer, Failed)
        if answer is not CONTINUE and isinstance(answer, Continue):
            log.warning("hook_members_ignored", hook=mount.name, stage=stage, members=answer.ignored)
        if isinstance(answer, Respond) and answer.dropped:
            log.warning("hook_effects_dropped", hook=mount.name, stage=stage, problems=answer.dropped)
        if isinstance(answer, Failed):
            self._report_failure(mount, question, answer)
            answer = decision.settled(mount.name, stage, answer, mount.rules.policy(stage))
        if (stats := self.stats.get(mount.name)) is not None:
            stats.record(duration_ns, failed)
        # A guard of hookgate's own that has nothing to say is no news, and there are several at every call.
        silent = mount.rules.inside and answer is CONTINUE
        if not silent and self.events.heard(GateDecision):
            self._record(mount, question, (answer, failed, duration_ns))
        return answer

    def _modified(self, mount: Mount, question: Question, answer: Modify) -> tuple[Question, Answer]:
        author = decision.Author(mount.name, mount.rules.may_modify, self._providers)
        try:
            subject, names = decision.modified(question.subject, answer.changes, author)
        except ValueError as error:
            failure = Failed(str(error))
            self.stats[mount.name].failures += 1
            self._report_failure(mount, question, failure)
            policy = mount.rules.policy(question.stage)
            return question, decision.settled(mount.name, question.stage, failure, policy)
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

    def _report_failure(self, mount: Mount, question: Question, failure: Failed) -> None:
        stage = question.stage
        policy = "audit" if mount.rules.mode == "audit" else mount.rules.policy(stage)
        self.events.emit(HookFailed(mount.name, stage, failure.reason, policy), question.step)

    def _record(self, mount: Mount, question: Question, decided: tuple[Answer, bool, int]) -> None:
        answer, failed, duration_ns = decided
        audit = True if mount.rules.mode == "audit" else None
        payload = GateDecision(
            hook=mount.name,
            stage=question.stage,
            action=answer.action,
            duration_ns=duration_ns,
            tool=question.tool or None,
            reason=getattr(answer, "reason", "") or None,
            failed=failed or None,
            audit=audit,
        )
        self.events.emit(payload, question.step)


_NOTHING = Deny("")


@dataclass(slots=True)
class _Walked:
    """Where a walk ended: the last question, and the hook whose answer ended it early, if one did."""

    question: Question
    mount: Mount | None = None
    answer: Respond | Deny = _NOTHING


def _first(matching: tuple[Mount, ...], asked: set[str], owner: str, stage: Stage) -> Mount | None:
    for mount in matching:
        name = mount.name
        if name not in asked and name != owner and mount.enforces and mount.stands_at(stage):
            return mount
    return None


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
