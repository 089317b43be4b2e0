"""What the operator says about one hook, and a hook together with it: the gate's unit of order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Literal

from hookgate.protocol.codec import canonical
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.hook.answers import Failed
from hookgate.protocol.hook.match import Matcher, Observed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.interfaces import Hook

Policy = Literal["continue", "deny", "abort"]
AnyPolicy = Policy | Literal["withhold"]
"""`withhold` is an extension's, at after_llm: people see nothing of a reply that it could not judge."""
Mode = Literal["enforce", "audit", "off"]
EventMethod = Literal["hook.event", "hook.runtime_event"]

INTERCEPTOR_TIMEOUT_S = 5.0
APPROVER_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Rules:
    """`may_modify` None: everything the page allows. `inside`: an in-process guard, asked before all processes."""

    stages: frozenset[Stage] = frozenset()
    observe: Observed = field(default_factory=Observed)
    match: Matcher = field(default_factory=Matcher)
    priority: int = 0
    mode: Mode = "enforce"
    on_failure: Mapping[Stage, AnyPolicy] = field(default_factory=dict[Stage, AnyPolicy])
    timeout_s: Mapping[Stage, float] = field(default_factory=dict[Stage, float])
    may_modify: frozenset[str] | None = None
    may_respond_unapproved: bool = False
    inside: bool = False

    def policy(self, stage: Stage) -> AnyPolicy:
        """An approver that fails refuses; that cannot be configured away."""
        return "deny" if stage is Stage.APPROVE_TOOL else self.on_failure.get(stage, "continue")

    def met(self, stage: Stage, failure: Failed) -> AnyPolicy:
        """The policy that this failure meets: of one that closes, what lets nothing pass."""
        if failure.closes:
            return "withhold" if stage is Stage.AFTER_LLM else "deny"
        return self.policy(stage)

    @cached_property
    def timeouts(self) -> Mapping[Stage, float]:
        """Seconds, of every stage."""
        usual = dict.fromkeys(Stage, INTERCEPTOR_TIMEOUT_S) | {Stage.APPROVE_TOOL: APPROVER_TIMEOUT_S}
        return usual | dict(self.timeout_s)

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hex, of what they say about the hook's answers, in whatever order it is said."""
        match = {name: sorted(globs.patterns) for name, globs in self.match.criteria.items()}
        may_modify = None if self.may_modify is None else sorted(self.may_modify)
        said = [sorted(self.stages), match, self.priority, self.mode, dict(self.on_failure), dict(self.timeout_s)]
        return sha256(canonical([*said, may_modify, self.may_respond_unapproved, self.inside])).hexdigest()


@dataclass(frozen=True)
class Mount:
    """`program`: what the hook is started from; with equal ones, and equal rules, two mounts judge alike."""

    hook: Hook
    rules: Rules
    program: object = None
    files: Callable[[], str] = field(default=lambda: "", compare=False)
    """The digest of the files that its process was started from."""
    down: Callable[[], str] = field(default=lambda: "", compare=False)
    """How its process, which has ended, is on its way back, as a model may read it; empty: it is there."""

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of what it runs and of what is configured for it."""
        return joined(self.rules.digest, self.files())

    @cached_property
    def name(self) -> str:
        return self.hook.name

    @property
    def order(self) -> tuple[bool, int, str]:
        """In-process guards, then ascending priority, then name: the order in a file must not matter."""
        return (not self.rules.inside, self.rules.priority, self.name)

    def judges_like(self, other: Mount) -> bool:
        return self is other or (self.program == other.program and self.rules == other.rules)

    @cached_property
    def enforces(self) -> bool:
        return self.rules.mode == "enforce"

    def answers_at(self, stage: Stage) -> bool:
        """Whether it stands there and what it says counts: an audit hook's answer does not."""
        # Not by way of `stands_at`: it is looked at before every call.
        if not self.enforces or stage not in self.rules.stages:
            return False
        narrowed = self.hook.declared.stages
        return narrowed is None or stage in narrowed

    def stands_at(self, stage: Stage) -> bool:
        narrowed = self.hook.declared.stages
        return stage in self.rules.stages and (narrowed is None or stage in narrowed)

    def covers(self, question: Question) -> bool:
        """By its match alone, which does not change while it is mounted; where it stands may, with a new hello."""
        return self.rules.match.matches(question.step, question.tool, question.model)

    def hears(self, event: Event) -> bool:
        payload, declared = event.payload, self.hook.declared.events
        if declared is not None and not Observed(declared).covers(payload.kind, payload.runtime):
            return False
        match = self.rules.match
        # Of each event it would be looked up in its payload.
        return not match.criteria or match.matches(event.step, event.tool)


@lru_cache(maxsize=1024)
def joined(rules: str, files: str) -> str:
    """The digest of a mount of which these two are. Every answer is on record with it."""
    return sha256(f"{rules}{files}".encode()).hexdigest()
