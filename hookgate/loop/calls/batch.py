"""The calls of one reply, what they have in common, and what a call is: ready to run, or settled with its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from hookgate.approvals.binding import Permit
from hookgate.hooks.chains import Chains
from hookgate.loop.agent import Agent
from hookgate.loop.calls.answers import Answers, answers_about
from hookgate.loop.delivery.outlet import Outlet
from hookgate.loop.nested.within import Within, delegates, makes_calls
from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.interfaces import Redactor, Tool
from hookgate.protocol.journal.audit import CallAudit
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Claim
from hookgate.protocol.redacting import redacted
from hookgate.protocol.values import LLMRequest, ProposedCall, Step, ToolCall, ToolResult, ToolSpec, Usage
from hookgate.tools.dispatch import rendered
from hookgate.tools.memo import Memo
from hookgate.tools.registry import Snapshot

if TYPE_CHECKING:
    from hookgate.hooks.emitter import Emitter
    from hookgate.loop.slots import Slot


@dataclass(frozen=True)
class Batch:
    """`request` is the one that the model answered; `memo` is the turn's; `used` gathers whose tools were called.
    `claim`: under it the journal keeps what is asked of people here, and what is run; `ids`: its names for the calls,
    by their own. `slot` is given back while a person is asked; None: they are no turn's. `within`: the call that has
    begun their turn. `within_writer`: the call that makes these, which has the workspace for itself meanwhile.
    `interrupted`: whether somebody has said something meanwhile that the rest of the calls is skipped for."""

    agent: Agent
    outlet: Outlet
    claim: Claim
    step: Step
    request: LLMRequest
    snapshot: Snapshot
    journal: Journal
    memo: Memo = field(default_factory=Memo)
    used: set[str] = field(default_factory=set[str])
    slot: Slot | None = None
    ids: Mapping[str, str] = field(default_factory=dict[str, str])
    within: Within | None = None
    within_writer: str = ""
    interrupted: Callable[[], bool] = lambda: False
    cut_off: list[CallAudit] = field(default_factory=list[CallAudit])
    """The records of calls whose turn ended before they did, for whoever writes its end."""
    left: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])
    """What the model is told of these calls, by their ids, for whoever writes its end."""
    spend: Callable[[Usage], None] = lambda _usage: None
    """Hears what model calls have cost that a call has led to."""

    @cached_property
    def redactor(self) -> Redactor:
        return self.agent.around.redactor

    @cached_property
    def events(self) -> Emitter:
        return self.agent.gate.events

    @property
    def while_asking(self) -> Callable[[], AbstractAsyncContextManager[None]]:
        """Held while a person is asked."""
        return nullcontext if self.slot is None else self.slot.given_back

    def notice(self, text: str) -> Outbound:
        """A line for the chat, without secrets."""
        return Outbound(self.step.chat, self.redactor.text(text), kind="notice")

    def presented(self, result: ToolResult) -> ToolResult:
        """A sound one as the model gets it, and whoever else reads it: without secrets, never empty."""
        return rendered(redacted(self.redactor, result))

    def spec(self, name: str) -> ToolSpec | None:
        """The tool as this request ships it: a reply asks several times a call, of tools that may be hundreds."""
        return self._specs.get(name)

    def away(self, name: str) -> str:
        """Why it cannot be called just now, though it will be back; else empty."""
        return self.agent.gate.away(self.step, name, self.request.model)

    def own_spec(self, name: str) -> ToolSpec | None:
        """As the tool is, whatever a hook has made of it in this request."""
        return self.snapshot.spec(name) or self.spec(name)

    def id_of(self, call: ToolCall | ProposedCall) -> str:
        """The journal's name for it."""
        return self.ids.get(call.id, call.id)

    def place_of(self, call: ToolCall) -> str:
        """Among the calls of its reply, for people; empty where it is the only one."""
        ids = tuple(self.ids)
        return f"call {ids.index(call.id) + 1} of {len(ids)}" if len(ids) > 1 and call.id in ids else ""

    def answers_about(self, call: ToolCall | ProposedCall) -> Answers | None:
        """What hooks have said about what this call shows people."""
        return answers_about(self.journal, self.claim, f"{self.claim.message}/{self.id_of(call)}")

    @cached_property
    def _specs(self) -> dict[str, ToolSpec]:
        return {spec.name: spec for spec in reversed(self.request.tools)}

    def owner(self, name: str) -> str:
        """The hook that must answer this tool's calls; only of injected tools."""
        spec = self.spec(name)
        return spec.owner if spec is not None else ""


@dataclass(frozen=True, slots=True)
class Ready:
    """Allowed and approved: this frozen call is the one that runs. `tool` None: the hook that has brought the tool
    answers, and that is the execution. `judges`: the hooks that stood then; `permit`: where people had to say yes.
    `begun`: before a crash; it goes on where it was."""

    call: ToolCall
    spec: ToolSpec
    tool: Tool | None
    judges: Chains
    permit: Permit | None = None
    begun: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether the journal has it before it runs: it was approved, may change something or make calls itself."""
        changes = self.tool is None or self.spec.mutates or self.spec.affects_workspace
        return changes or self.permit is not None or makes_calls(self.spec)

    @property
    def reads_only(self) -> bool:
        return self.tool is not None and self.spec.read_only

    @property
    def delegates(self) -> bool:
        return self.tool is not None and delegates(self.spec)


@dataclass(frozen=True, slots=True)
class Settled:
    """A call with its result. `by` says who gave it, within `duration_ns`; "": nobody has run anything, and `skipped`
    says why in the event. `cut_short`: the turn ended before it did, and this is as far as it had come; not even
    begun where `begun` is false. `outbox`: what people read of it."""

    call: ProposedCall | ToolCall
    result: ToolResult
    skipped: str = ""
    outbox: tuple[Outbound, ...] = ()
    by: Literal["", "hook", "tool"] = ""
    duration_ns: int = 0
    cut_short: bool = False
    begun: bool = True
