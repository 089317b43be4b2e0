"""One hook asked one question: timed, recorded, and a failure turned into what the hook's policy makes of it.

Which hooks are asked, and what becomes of their answers, is the gate's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from time import perf_counter_ns

import structlog

from hookgate.hooks import decision
from hookgate.hooks.emitter import Emitter
from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules, joined
from hookgate.hooks.stats import Stats
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import FailedOpen
from hookgate.protocol.events.payloads import GateDecision, HookFailed, StageCall, TurnEnd
from hookgate.protocol.hook.answers import CONTINUE, Answer, Continue, Failed, Modify, Respond
from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.hook.match import Observed
from hookgate.protocol.hook.said import answer_members
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.interfaces import Hook, Recall
from hookgate.protocol.journal.values import AnswerKey
from hookgate.protocol.values import Step

log = structlog.get_logger("hookgate.hooks")


class Asking:
    """`stats`: how each mounted hook has done, by its name. `redact`: reasons as people may read them."""

    def __init__(self, events: Emitter, redact: Callable[[str], str]) -> None:
        self.stats: dict[str, Stats] = {}
        self._hooks: dict[str, Hook] = {}
        self._events = events
        self._redact = redact
        ends = Rules(observe=Observed((TurnEnd.kind,)), inside=True)
        events.join(Mount(InsideHook("failures", hear=self._turn_ended), ends))

    def mount(self, mounts: Sequence[Mount]) -> None:
        """From here on these hooks are counted; one that stays keeps its figures."""
        self._tell_counted()
        self.stats = {mount.name: self.stats.get(mount.name, Stats()) for mount in mounts}
        before, self._hooks = self._hooks, {mount.name: mount.hook for mount in mounts}
        for name, hook in self._hooks.items():
            if before.get(name) is not hook:
                self.stats[name].exchanged()

    async def ask(
        self, mount: Mount, question: Question, timeout_s: float | None = None, kept: Recall | None = None
    ) -> Answer:
        """What the hook's answer counts for; never Failed. `timeout_s`: instead of the one configured, for the call
        of its own tool. `kept`: what it said to this very question before a crash counts again; a guard of
        hookgate's own costs less than that and is always asked."""
        asked = None
        if kept is not None and not mount.rules.inside:
            asked = AnswerKey(kept.subject, question.stage, mount.name, question.digest, mount.digest)
            if (before := await kept.find(asked)) is not None:
                return before
        started, stage, failed = perf_counter_ns(), question.stage, False
        answer = await mount.hook.ask(question, timeout_s or mount.rules.timeouts[stage])
        duration_ns = perf_counter_ns() - started
        # By far the most frequent answer, and one that fits everywhere but there.
        if answer is not CONTINUE or stage is Stage.APPROVE_TOOL:
            answer, failed = self._weighed(mount, question, answer, owned=timeout_s is not None)
        # A hook may have been dropped while it was asked.
        if (stats := self.stats.get(mount.name)) is not None:
            fails = stats.record("failed" if failed else answer.action, duration_ns)
            if fails and not failed and not isinstance(answer, Modify):
                self.usable(mount, stage)
        # A guard of hookgate's own that has nothing to say is no news, and there are several at every call.
        if not (mount.rules.inside and answer is CONTINUE):
            self._hear(mount, question, answer, failed=failed)
            if self._events.hears_answers:
                self._tell(mount, question, (answer, failed, duration_ns))
        if asked is not None and kept is not None and not failed:
            await kept.keep(asked, answer)
        return answer

    def unusable(self, mount: Mount, question: Question, reason: str) -> Answer:
        """A usable answer turned out to ask for what the hook may not do: that is a failure too."""
        answer = self._failed(mount, question, Failed(reason))
        self._hear(mount, question, answer, failed=True)
        return answer

    def usable(self, mount: Mount, stage: Stage) -> None:
        """Its answer counts: what failed there works."""
        if (stats := self.stats.get(mount.name)) is not None and (times := stats.succeeded(stage)):
            log.info("hook_works_again", hook=mount.name, stage=stage, failures=times)

    def _weighed(self, mount: Mount, question: Question, answer: Answer, *, owned: bool) -> tuple[Answer, bool]:
        """The answer as it counts, and whether the hook has failed."""
        stage = question.stage
        match decision.allowed_at(stage, answer):
            case Failed() as failure:
                return self._failed(mount, question, failure, owned=owned), True
            case Continue(ignored=members) if members:
                log.warning("hook_members_ignored", hook=mount.name, stage=stage, members=members)
            case Respond(dropped=problems) if problems:
                log.warning("hook_effects_dropped", hook=mount.name, stage=stage, problems=problems)
            case _:
                pass
        return answer, False

    def _failed(self, mount: Mount, question: Question, failure: Failed, *, owned: bool = False) -> Answer:
        """`owned`: it is the execution that failed, and lets nothing through."""
        stage = question.stage
        policy = mount.rules.met(stage, failure)
        told = "audit" if mount.rules.mode == "audit" else policy
        passed = decision.let_through(question) if told == "continue" and not owned else None
        self._events.emit(HookFailed(mount.name, stage, failure.reason, told, passed), question.step)
        self._warn(question, HookFailed(mount.name, stage, self._redact(failure.reason), told, passed))
        return decision.settled(mount.name, stage, failure, policy)

    def _warn(self, question: Question, failed: HookFailed) -> None:
        """Every failure counts; what is the same again is not each time a line."""
        stats = self.stats.get(failed.hook)
        if times := stats.failed(failed, question.tool) if stats is not None else 1:
            self._tell_failed(failed, times, question.step)

    def _turn_ended(self, event: Event) -> None:
        """Nobody leaves a turn without knowing what passed in it."""
        if event.step is None or not event.step.parent_turn_id:
            self._tell_counted(event.step)

    def _tell_counted(self, step: Step | None = None) -> None:
        for stats in self.stats.values():
            if (counted := stats.counted()) is not None:
                self._tell_failed(*counted, step)

    def _tell_failed(self, failed: HookFailed, times: int, step: Step | None) -> None:
        said = {"stage": failed.stage, "reason": failed.reason, "policy": failed.policy, "times": times}
        passed = {"let_through": failed.let_through} if failed.let_through else {}
        log.warning("hook_failed", hook=failed.hook, **said, **passed)
        if failed.let_through:
            self._events.emit(FailedOpen(failed.hook, failed.stage, failed.reason, failed.let_through, times), step)

    def _tell(self, mount: Mount, question: Question, decided: tuple[Answer, bool, int]) -> None:
        if self._events.heard(GateDecision):
            self._record(mount, question, decided)
        if self._events.heard(StageCall):
            self._keep(mount, question, decided)

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
        self._events.emit(payload, question.step)

    def _keep(self, mount: Mount, question: Question, decided: tuple[Answer, bool, int]) -> None:
        answer, failed, duration_ns = decided
        params, said = decode(question.params), decode(encode(answer_members(answer)))
        audit = True if mount.rules.mode == "audit" else None
        call = StageCall(mount.name, question.stage, params, said, duration_ns, failed or None, audit)
        self._events.emit(call, question.step)

    def _hear(self, mount: Mount, question: Question, answer: Answer, *, failed: bool) -> None:
        """For the record of the call that it is about, without secrets. What an audit hook would have done is no part
        of that."""
        call = question.call
        if call is None or not mount.enforces:
            return
        if answer is CONTINUE:
            said = _continued(question.stage, mount.name, mount.rules.digest, mount.files())
        else:
            reason = self._redact(getattr(answer, "reason", ""))
            said = Judgement(question.stage, mount.name, mount.digest, answer.action, reason, failed)
        question.step.heard.setdefault(call.id, []).append(said)


@lru_cache(maxsize=1024)
def _continued(stage: Stage, hook: str, rules: str, files: str) -> Judgement:
    """By far the most frequent one, and each time the same."""
    return Judgement(stage, hook, joined(rules, files), CONTINUE.action)
