"""One hook asked one question: timed, recorded, and a failure turned into what the hook's policy makes of it.

Which hooks are asked, and what becomes of their answers, is the gate's.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns

import structlog

from hookgate.hooks import decision
from hookgate.hooks.emitter import Emitter
from hookgate.hooks.rules import Mount
from hookgate.hooks.stats import Stats
from hookgate.protocol.answers import CONTINUE, Answer, Continue, Failed, Respond
from hookgate.protocol.payloads import GateDecision, HookFailed
from hookgate.protocol.stages import Question, Stage

log = structlog.get_logger("hookgate.hooks")


class Asking:
    """`stats`: how each mounted hook has done, by its name."""

    def __init__(self, events: Emitter) -> None:
        self.stats: dict[str, Stats] = {}
        self._events = events

    def mount(self, mounts: Sequence[Mount]) -> None:
        """From here on these hooks are counted; one that stays keeps its figures."""
        self.stats = {mount.name: self.stats.get(mount.name, Stats()) for mount in mounts}

    async def ask(self, mount: Mount, question: Question, timeout_s: float | None = None) -> Answer:
        """What the hook's answer counts for; never Failed. `timeout_s`: instead of the one configured."""
        stage, failed = question.stage, False
        started = perf_counter_ns()
        answer = await mount.hook.ask(question, timeout_s or mount.rules.timeout(stage))
        duration_ns = perf_counter_ns() - started
        # By far the most frequent answer, and one that fits everywhere but there.
        if answer is not CONTINUE or stage is Stage.APPROVE_TOOL:
            answer, failed = self._weighed(mount, question, answer)
        # A hook may have been dropped while it was asked.
        if (stats := self.stats.get(mount.name)) is not None:
            stats.record(duration_ns, failed)
        # A guard of hookgate's own that has nothing to say is no news, and there are several at every call.
        silent = mount.rules.inside and answer is CONTINUE
        if not silent and self._events.heard(GateDecision):
            self._record(mount, question, (answer, failed, duration_ns))
        return answer

    def unusable(self, mount: Mount, question: Question, reason: str) -> Answer:
        """A usable answer turned out to ask for what the hook may not do: that is a failure too."""
        if (stats := self.stats.get(mount.name)) is not None:
            stats.failures += 1
        return self._failed(mount, question, Failed(reason))

    def _weighed(self, mount: Mount, question: Question, answer: Answer) -> tuple[Answer, bool]:
        """The answer as it counts, and whether the hook has failed."""
        stage = question.stage
        match decision.fitting(stage, answer):
            case Failed() as failure:
                return self._failed(mount, question, failure), True
            case Continue(ignored=members) if members:
                log.warning("hook_members_ignored", hook=mount.name, stage=stage, members=members)
            case Respond(dropped=problems) if problems:
                log.warning("hook_effects_dropped", hook=mount.name, stage=stage, problems=problems)
            case _:
                pass
        return answer, False

    def _failed(self, mount: Mount, question: Question, failure: Failed) -> Answer:
        stage = question.stage
        policy = mount.rules.policy(stage)
        told = "audit" if mount.rules.mode == "audit" else policy
        self._events.emit(HookFailed(mount.name, stage, failure.reason, told), question.step)
        return decision.settled(mount.name, stage, failure, policy)

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
