"""One set of hooks in the order in which they are asked: which stand at a stage, and which match a question.

Replaced as a whole when the hooks change.
"""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.hooks.rules import Mount
from hookgate.protocol.chat import Chat
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Step, ToolCall

MAX_KNOWN_MATCHES = 4096


class Chains:
    """`audited`: some hook is only audited."""

    def __init__(self, mounts: Sequence[Mount] = ()) -> None:
        self.mounts = tuple(sorted(mounts, key=lambda mount: mount.order))
        self.audited = any(mount.rules.mode == "audit" for mount in self.mounts)
        self.at = {stage: tuple(mount for mount in self.mounts if stage in mount.rules.stages) for stage in Stage}
        """By what is configured; a hook may have declared that it stands at fewer."""
        self._matches: dict[tuple[Stage, Chat, tuple[str, ...], tuple[str, str], str], tuple[Mount, ...]] = {}

    def matching(self, question: Question) -> tuple[Mount, ...]:
        """The hooks of a stage whose match covers the question: the same for every call of a chat to a tool."""
        stage, step, subject = question.stage, question.step, question.subject
        if not self.at[stage]:
            return ()
        # As the question itself has it; a call is asked about most often.
        named = (subject.name, step.model) if isinstance(subject, ToolCall) else (question.tool, question.model)
        key = (stage, step.inbound.chat, step.roles, named, step.agent)
        known = self._matches.get(key)
        if known is None:
            if len(self._matches) >= MAX_KNOWN_MATCHES:
                self._matches.clear()
            known = self._matches[key] = tuple(mount for mount in self.at[stage] if mount.covers(question))
        return known

    def came_since(self, judges: Chains, step: Step, call: ToolCall) -> bool:
        """Whether a hook that would be asked about the call here is not, or not as it is here, among those that have
        judged it. A new process of the same hook is no other one."""
        for stage in (Stage.BEFORE_TOOL, Stage.APPROVE_TOOL):
            known = {mount.name: mount for mount in judges.at[stage]}
            for mount in self.matching(Question(stage, step, call)):
                before = known.get(mount.name)
                judged = before is not None and mount.judges_like(before)
                if mount.answers_at(stage) and not judged:
                    return True
        return False
