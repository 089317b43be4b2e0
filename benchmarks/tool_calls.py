"""Inside the tool system: a snapshot of many tools, a typed call, a call from the memo."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter_ns

from pydantic import BaseModel, ConfigDict

from benchmarks.figures import Bar, Figure, Pair, Run
from hookgate.approvals.requests import Approvals
from hookgate.approvals.surroundings import Surroundings
from hookgate.hooks.gate import Gate
from hookgate.loop.agent import Agent
from hookgate.loop.calls.batch import Batch, Settled
from hookgate.loop.calls.calls import run_calls
from hookgate.loop.delivery.delivery import Delivery
from hookgate.loop.delivery.outlet import Outlet
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decide
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED, ChannelPolicy
from hookgate.protocol.journal.audit import CallAudit
from hookgate.protocol.journal.values import Claim, Conversation
from hookgate.protocol.values import LLMRequest, ProposedCall, Step, ToolCall, ToolResult, ToolSpec
from hookgate.store.memory import MemoryJournal
from hookgate.tools.decode import read_calls
from hookgate.tools.functions.typed import tool
from hookgate.tools.memo import Execution, Memo
from hookgate.tools.registry import Registry

CLAIM = Claim(Conversation("bench:1", "main"), 1, "gateway", 0.0)
TOOLS = 500
CALLS = 2000
SNAPSHOT = Bar("a snapshot of 500 tools after one registration", "sorting 500 names", "ms", 2.0, absolute=True)
DISPATCH = Bar(
    "a typed call that does nothing, no hook mounted",
    "pydantic and a bare await",
    "µs",
    60.0,
    absolute=True,
    or_times=12.0,
)
MEMO = Bar("the same pure call again, from the memo", "a dictionary look-up", "µs", 15.0, absolute=True)


@dataclass(frozen=True)
class Numbered:
    spec: ToolSpec

    async def execute(self, call: ToolCall) -> ToolResult:
        return ToolResult("ok")


async def nothing(path: str, count: int = 1) -> str:
    """Do nothing."""
    return "ok"


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    path: str
    count: int = 1


class Nowhere:
    """A channel that nobody reads."""

    name = "bench"
    limits = UNLIMITED
    state = PRESENT

    async def send(self, outbound: Outbound, key: str) -> str:
        return ""

    def stream(self, chat: Chat, text: str) -> None: ...

    def end_stream(self, chat: Chat) -> None: ...

    def restart_stream(self, chat: Chat) -> None: ...

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        raise CannotAsk("nobody is here")


async def measure(run: Run) -> list[Figure]:
    snapshots = [_snapshot() for _ in range(max(3, run.rounds))]
    batch = _batch()
    dispatch = [await _dispatch(batch, run.times(CALLS)) for _ in range(run.rounds)]
    memo = [await _memo(run.times(CALLS)) for _ in range(run.rounds)]
    return [SNAPSHOT.judged(snapshots), DISPATCH.judged(dispatch), MEMO.judged(memo)]


def _snapshot() -> Pair:
    registry, schema = Registry(), {"type": "object", "properties": {"path": {"type": "string"}}}
    spec = ToolSpec("", "What it does, in a sentence or two.", schema)
    for number in range(TOOLS - 1):
        registry.register(Numbered(replace(spec, name=f"tool_{number:03}")))
    names = [it.name for it in registry.snapshot().specs]
    began = perf_counter_ns()
    sorted(names)
    floor = perf_counter_ns()
    registry.register(Numbered(replace(spec, name="tool_new")))
    assert len(registry.snapshot().specs) == TOOLS
    return (floor - began) / 1e6, (perf_counter_ns() - floor) / 1e6


def _batch() -> Batch:
    registry, gate = Registry(), Gate()
    registry.register(tool(mutates=False, affects_workspace=False)(nothing))
    approvals = Approvals((), MemoryJournal(), Surroundings(gate.events.emit))
    agent = Agent("main", "p/m", "", {}, gate, registry, approvals)
    step, snapshot = Step("main", "t", Inbound(Chat("bench", "1"), "")), registry.snapshot()
    journal, request = MemoryJournal(), LLMRequest("p/m", (), snapshot.specs)
    outlet = Outlet(Nowhere(), Delivery(journal.posting, {}), ChannelPolicy())
    return Batch(agent, outlet, CLAIM, step, request, snapshot, journal, Memo())


async def record(_id: str, _final: Settled, _audit: CallAudit) -> None: ...


async def _dispatch(batch: Batch, count: int) -> Pair:
    """From the model's text to the result in the transcript; the floor is what any program must do for the same."""
    proposed, text = ProposedCall("c", "nothing", '{"path":"a.txt"}'), '{"path":"a.txt"}'
    began = perf_counter_ns()
    for _ in range(count):
        arguments = Arguments.model_validate_json(text)
        await nothing(arguments.path, arguments.count)
    floor = perf_counter_ns()
    for _ in range(count):
        await run_calls(batch, read_calls([proposed], cut=False), record)
    return (floor - began) / count / 1000, (perf_counter_ns() - floor) / count / 1000


async def _memo(count: int) -> Pair:
    memo, call = Memo(), ToolCall("c", "nothing", {"path": "a.txt", "count": 1})
    spec = ToolSpec("nothing", "", {"type": "object"}, mutates=False, affects_workspace=False, pure=True)
    kept = {("nothing", "a.txt", 1): ToolResult("ok")}

    run = await memo.found(spec, call)
    assert isinstance(run, Execution)
    memo.ended(run, ToolResult("ok", data={"path": "a.txt"}))
    began = perf_counter_ns()
    for _ in range(count):
        kept["nothing", "a.txt", 1]
    floor = perf_counter_ns()
    for _ in range(count):
        await memo.found(spec, call)
    return (floor - began) / count / 1000, (perf_counter_ns() - floor) / count / 1000
