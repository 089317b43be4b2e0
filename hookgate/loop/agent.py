"""The parts that a turn is made with. Frozen: a turn never sees them change under it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING, Literal

from hookgate.loop.calls.execution_policy import Around
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json, JsonObject, Step
from hookgate.tools.select import Selection

if TYPE_CHECKING:
    from hookgate.approvals.requests import Approvals
    from hookgate.hooks.gate import Gate
    from hookgate.loop.calls.reply_calls import TextCalls
    from hookgate.protocol.chat import Inbound
    from hookgate.protocol.interfaces import Provider
    from hookgate.protocol.values.models import Model
    from hookgate.tools.registry import Registry


@dataclass(frozen=True)
class Retries:
    """Seconds. A wait that an endpoint asks for is taken up to `longest_s`; a longer one is not worth waiting."""

    limit: int = 2
    first_s: float = 1.0
    longest_s: float = 60.0


@dataclass
class Tally:
    """Where every tool call that reached the gate went.

    calls == denied + answered + allowed, and allowed == executed + cached + dropped.
    """

    calls: int = 0
    denied: int = 0
    answered: int = 0
    allowed: int = 0
    executed: int = 0
    cached: int = 0
    dropped: int = 0

    def count(self, way: Literal["denied", "answered", "allowed"]) -> None:
        """A call that the gate has decided about."""
        self.calls += 1
        setattr(self, way, getattr(self, way) + 1)

    @property
    def balanced(self) -> bool:
        decided = self.denied + self.answered + self.allowed
        return self.calls == decided and self.allowed == self.executed + self.cached + self.dropped


@dataclass(frozen=True)
class Agent:
    """`providers` by their name in the configuration; `model` is PROVIDER/MODEL; `system` may be empty.

    `kinds`: of channels, by name; any other one is its own. `compact_at`: the part of the model's window from which
    on a conversation is summed up; 0: never. `unknown_of`: a line on what nobody knows of a model, empty where all is
    known; `delegates_to`: the agents that it may hand tasks to; `looked_up`: the models that hooks chose so far.
    """

    name: str
    model: str
    system: str
    providers: Mapping[str, Provider]
    gate: Gate
    registry: Registry
    approvals: Approvals
    max_steps: int = 50
    options: JsonObject = field(default_factory=dict[str, Json])
    retries: Retries = field(default_factory=Retries)
    text_calls: TextCalls = "tags"
    around: Around = field(default_factory=Around)
    selection: Selection = field(default_factory=Selection)
    known_model: Callable[[str], Model | None] = lambda _name: None
    unknown_of: Callable[[str], str] = lambda _name: ""
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    compact_at: float = 0.85
    delegates_to: tuple[str, ...] = ()
    tally: Tally = field(default_factory=Tally)
    looked_up: set[str] = field(default_factory=set[str])
    numbers: count[int] = field(default_factory=lambda: count(1))

    def step(self, turn_id: str, inbound: Inbound, iteration: int = 0, extension: str = "") -> Step:
        """Of a turn of this agent's that answers this message."""
        chat = inbound.chat
        kind, roles = self.kinds.get(chat.channel, chat.channel), self.approvals.roles(chat)
        return Step(
            self.name, turn_id, inbound, iteration, model=self.model, extension=extension, kind=kind, roles=roles
        )
