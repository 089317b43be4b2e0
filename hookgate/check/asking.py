"""What a check knows of the hook that it asks, and how it asks: what every probe stands on.

What goes wrong with the process itself is raised (NoAnswer, HookGone), a wrong answer too (BadMessage).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from hookgate.check.golden import (
    question,
)
from hookgate.check.mailbox import Answered, ErrorAnswer, Result
from hookgate.check.subject import Subject
from hookgate.processes.child import LATE_S, Late
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.answers import Answer, actions_at, parse_answer
from hookgate.protocol.hook.hello import Hello, left_out
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolSpec

ALL_STAGES = frozenset(Stage)
NAME = "check"
UNKNOWN_METHOD = "hook.check_unknown"
SHOWN_CHARS = 400
HELLO_S = 10.0


class WrongAnswer(BadMessage):
    """An answer that is not what the protocol says, with the text of what came and an example of what is right."""

    def __init__(self, problem: str, came: object, expected: str) -> None:
        super().__init__(problem)
        self.came, self.expected = came if isinstance(came, str) else shown(came), expected


def shown(value: object) -> str:
    """JSON as a line, cut where it is long."""
    text = encode(value).decode()
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}... ({len(text)} characters)"


class NothingToAsk(Exception):
    """The hook gives a usable answer to nothing, so that what comes after some event cannot be asked."""


@dataclass(frozen=True, slots=True)
class CheckTimeouts:
    """Seconds: for hello, a call, a call after one was not answered, a call that takes long, the exit, all of it.

    `usual_hello_s`: what a gateway waits for hello; `late_s`: after so many it is said that hello has not come.
    """

    hello_s: float = HELLO_S
    usual_hello_s: float = HELLO_S
    late_s: float = LATE_S
    call_s: float = 5.0
    again_s: float = 2.0
    long_s: float = 10.0
    exit_s: float = 2.0
    total_s: float = 30.0
    stages_s: Mapping[Stage, float] = field(default_factory=dict[Stage, float])
    """For a first call at a stage, where that is configured."""

    def hastier(self) -> CheckTimeouts:
        """What is left to a hook that did not answer once, so that the whole run stays bounded."""
        if self.call_s <= self.again_s:
            return self
        return replace(self, call_s=self.again_s, long_s=self.call_s)

    def started(self, seconds: float) -> CheckTimeouts:
        """Once it has said hello after so long: it need not be compiled again."""
        return replace(self, hello_s=min(self.hello_s, max(self.usual_hello_s, HELLO_S, 2 * seconds)))


@dataclass(frozen=True, slots=True)
class Offer:
    """What the hook is told at hello: everything, or what is configured for it. `guarded`: where nothing may pass
    that it has not seen."""

    name: str = NAME
    stages: frozenset[Stage] = ALL_STAGES
    observes: bool = True
    max_in_flight: int = 256
    configured: bool = False
    guarded: frozenset[Stage] = frozenset()


@dataclass
class Learnt:
    """What the run has learnt about the hook so far; it outlives the single process. `injected`: tools that it has
    added to a request. `late`: told where its hello does not come soon. `problem`: why no gateway offers a tool;
    `taken`: names of tools that it has itself."""

    limits: CheckTimeouts
    offer: Offer = field(default_factory=Offer)
    late: Late = lambda _why: None
    problem: Callable[[ToolSpec], str | None] = lambda _spec: None
    taken: frozenset[str] = frozenset()
    declared: Hello | None = None
    usable: list[Stage] = field(default_factory=list[Stage])
    answers_unknown: bool = False
    refuses_unknown: bool = False
    injected: tuple[ToolSpec, ...] = ()

    @property
    def offered(self) -> list[Stage]:
        """The stages that the hook declared; those of version 1 if it declared none."""
        stages = (self.declared or Hello()).standing(self.offer.stages)
        return [stage for stage in Stage if stage in stages]

    @property
    def left_out(self) -> str | None:
        """What is wrong with the stages that the hook declared beside those that are configured."""
        return left_out(self.declared or Hello(), self.offer.stages) if self.offer.configured else None

    @property
    def unnamed(self) -> list[Stage]:
        """The stages that the hook would have had to declare, and declared none."""
        declares = self.declared is None or self.declared.stages is not None
        return [] if declares else [stage for stage in Stage if stage in self.offer.stages - {*self.offered}]

    def room(self, count: int) -> int:
        """How many of `count` calls may be in flight at once."""
        limit = self.declared.max_in_flight if self.declared else None
        return min(count, limit or count, self.offer.max_in_flight)


async def ask(hook: Subject, question: Question, patience_s: float = 0) -> Answered:
    seconds = patience_s or hook.patience_s
    return await hook.call(question.stage.method, question.framed_params(seconds), seconds)


def read_answer(stage: Stage, answered: Answered) -> Answer:
    """Raises BadMessage, also for a JSON-RPC error."""
    match answered:
        case ErrorAnswer(code=code, message=message):
            raise WrongAnswer(f"{stage}: error {code}: {message}", f"error {code}: {message}", expected_at(stage))
        case Result(value=value):
            try:
                return parse_answer(stage, value)
            except BadMessage as error:
                raise WrongAnswer(f"{stage}: {error}", value, expected_at(stage)) from None


def expected_at(stage: Stage) -> str:
    if stage is Stage.APPROVE_TOOL:
        return '{"approved":true}, {"approved":false,"reason":"..."} or {"ask":{...}}'
    return f'{{"action":"continue"}}, or one of {", ".join(actions_at(stage))} with what belongs to it'


def next_call(hook: Subject, known: Learnt, text: str = "ls") -> tuple[int, bytes]:
    """The id and frame of a call that this hook answers. Raises NothingToAsk."""
    if known.usable:
        asked = question(known.usable[0], text)
        return hook.mailbox.request(asked.stage.method, asked.framed_params(hook.patience_s))
    if known.answers_unknown:
        return hook.mailbox.request(UNKNOWN_METHOD, encode({"text": text}))
    raise NothingToAsk


def read_next(known: Learnt, answered: Answered) -> None:
    """Raises BadMessage unless this answers what `next_call` asked."""
    if known.usable:
        read_answer(known.usable[0], answered)


async def still_answers(hook: Subject, known: Learnt, before: bytes = b"") -> None:
    """Write `before`, then a call, and read its answer. Raises what asking raises, and NothingToAsk."""
    call_id, frame = next_call(hook, known)
    read_next(known, await hook.exchange(before + frame, call_id))
