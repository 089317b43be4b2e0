"""The one loop over hooks: who is asked a question, what the next one sees, and whose answer ends it.

What an answer means is in `decision.py`. The walk does not know what a stage's caller makes of where it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NoReturn

from hookgate.hooks import decision
from hookgate.hooks.asking import Asking
from hookgate.hooks.audit import Audits
from hookgate.hooks.chains import Chains
from hookgate.hooks.emitter import Emitter
from hookgate.hooks.offered import Offered
from hookgate.hooks.rules import Mount
from hookgate.protocol.chat import ChatMessage
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import SessionAborted, TurnAborted
from hookgate.protocol.events.payloads import HookModified, ToolInjected
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer, Deny, Drop, Modify, ReplyWith, Respond
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.interfaces import Recall, Redactor
from hookgate.protocol.redacting import redacted
from hookgate.protocol.values import Finished, LLMRequest

Last = Respond | ReplyWith | Drop | Deny
"""Answers after which nobody else is asked."""
Consulted = tuple[Mount, Question]
"""A hook as it was when it was asked in this walk, and what it was asked."""
NOBODY: Mapping[str, Consulted] = MappingProxyType({})
Walked = tuple[Question, tuple[Mount, Last] | None]
"""Where a walk ended: the last question, and whose answer ended it early, if one did."""


@dataclass
class Walk:
    """`chains` may be exchanged at any time. A walk under way goes on with the new ones: it asks a dropped hook no
    more, and it ends only where every hook that stands at that moment has been asked."""

    asking: Asking
    audits: Audits
    events: Emitter
    offered: Offered
    providers: frozenset[str]
    redactor: Redactor | None
    chains: Chains

    async def over(
        self, question: Question, owner_of: Callable[[str], str] | None = None, kept: Recall | None = None
    ) -> Walked:
        """Ask each matching hook what its predecessors left.

        A hook that did not match a call's first name but matches the one it was renamed to is asked too: a rename
        must not slip past a guard. Each hook is asked at most once, but for hookgate's own guards (`by_guards`),
        and before a tool those that are another program or under other rules by now: that has not judged the call.
        """
        if self.chains.audited:
            self.audit(question)
        asked: dict[str, Consulted] = {}
        first, stage = question, question.stage
        while True:
            chains, seen, owner = self.chains, question, owner_of(question.tool) if owner_of else None
            for mount in chains.matching(question):
                if mount.name == owner or not mount.answers_at(stage):
                    continue
                before = asked.get(mount.name)
                # A change of a request or a result is made once.
                if before is not None and (stage is not Stage.BEFORE_TOOL or mount.judges_like(before[0])):
                    continue
                asked[mount.name] = mount, question
                answer = await self.asking.ask(mount, question, kept=kept)
                if answer is not CONTINUE:
                    question, last = self._followed(mount, question, answer)
                    if isinstance(last, Respond) and self.chains is not chains:
                        # It stands for the execution, so those who came meanwhile judge the call first.
                        del asked[mount.name]
                    elif last is not None:
                        return question, (mount, last)
                if question is not seen or self.chains is not chains:
                    # The call may have another name, or a hook another process, than when the walk began.
                    break
            else:
                changed = question is not first and stage is Stage.BEFORE_TOOL
                question, ended = await self.by_guards(question, asked) if changed else (question, None)
                if ended is not None or self.chains is chains:
                    return question, ended

    def audit(self, question: Question) -> None:
        for mount in self.chains.matching(question):
            if mount.rules.mode == "audit" and mount.stands_at(question.stage):
                self.audits.put(mount, question)

    async def by_guards(self, question: Question, asked: Mapping[str, Consulted] = NOBODY) -> Walked:
        """hookgate's own guards come before all hooks, so they have not seen what the hooks made of a call. `asked`:
        those who have."""
        for mount in self.chains.matching(question):
            before = asked.get(mount.name)
            unseen = mount.rules.inside and (before is None or before[1] is not question)
            if not (unseen and mount.answers_at(question.stage)):
                continue
            question, last = self._followed(mount, question, await self.asking.ask(mount, question))
            if last is not None:
                return question, (mount, last)
        return question, None

    def _followed(self, mount: Mount, question: Question, answer: Answer) -> tuple[Question, Last | None]:
        """What the next hook is asked, and the answer if it ends the walk."""
        if isinstance(answer, Modify):
            question, answer = self._modified(mount, question, answer)
        match answer:
            case Abort():
                abort(mount, question.stage, answer)
            case Deny() if isinstance(question.subject, Finished):
                withheld = decision.withheld(question.subject, mount.name, answer.reason)
                return replace(question, subject=withheld), None
            case Respond() | ReplyWith() | Drop() | Deny():
                return question, answer
            case _:
                return question, None

    def _modified(self, mount: Mount, question: Question, answer: Modify) -> tuple[Question, Answer]:
        author = decision.Author(mount.name, mount.rules.may_modify, self.providers)
        try:
            subject, names = decision.modified(question.subject, answer.changes, author)
        except ValueError as error:
            return question, self.asking.unusable(mount, question, str(error))
        self.asking.usable(mount, question.stage)
        if not names:
            return question, CONTINUE
        match question.subject, subject:
            case LLMRequest(), LLMRequest():
                subject = self.offered.usable(mount, question, subject)
            # The next hook sees what the last one wrote as everybody does.
            case _, Finished(result=result) if self.redactor is not None:
                subject = replace(subject, result=redacted(self.redactor, result))
            case _, ChatMessage(text=text) if self.redactor is not None and question.stage is Stage.BEFORE_SEND:
                subject = replace(subject, text=self.redactor.text(text))
            case _:
                pass
        after = replace(question, subject=subject)
        self._announce(mount, question, after, names)
        return after, CONTINUE

    def _announce(self, mount: Mount, before: Question, after: Question, names: tuple[str, ...]) -> None:
        old, new = before.subject, after.subject
        if isinstance(old, LLMRequest) and isinstance(new, LLMRequest):
            for tool in decision.injected(old, new):
                self.events.emit(ToolInjected(mount.name, tool), before.step)
            if decision.system_changed(old, new):
                names = (*names, "system")
        self.events.emit(HookModified(mount.name, before.stage, names, before.tool or None), before.step)


def abort(mount: Mount, stage: Stage, answer: Abort) -> NoReturn:
    if answer.hard:
        raise SessionAborted(mount.name, stage, answer.reason)
    raise TurnAborted(mount.name, stage, answer.reason, failed=answer.failed)
