"""The tool calls of one reply: each is prepared (the gate, a person), executed, finished; in the reply's order.

Preparing yields either a call to run or its result. Every way to run a tool goes through here. Consecutive
read-only calls are executed together; nothing else ever is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter_ns

import structlog
import trio

from hookgate.hooks.decision import refusal
from hookgate.hooks.gate import Allowed, Answered, Denied
from hookgate.loop.agent import Agent
from hookgate.protocol.approval import Wish
from hookgate.protocol.interfaces import Channel, Tool
from hookgate.protocol.payloads import ToolExecEnd, ToolExecSkipped, ToolExecStart
from hookgate.protocol.values import (
    Fault,
    Finished,
    LLMRequest,
    Outbound,
    ProposedCall,
    Step,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from hookgate.tools.decode import ReadCall, incomplete
from hookgate.tools.dispatch import execute, invalid, not_found, rendered
from hookgate.tools.registry import Snapshot

log = structlog.get_logger("hookgate.loop")

DELIVERED = (
    "The requested output has already been delivered to the user in the current chat. Do not call send_file or any "
    "other delivery tool again. If you reply, provide only a brief confirmation."
)
"""picoclaw's words to the model, kept for prompts that rely on them."""

Record = Callable[[str, ToolResult], None]


@dataclass(frozen=True)
class Batch:
    """What the calls of one reply have in common: `request` is the one that the model answered."""

    agent: Agent
    channel: Channel
    step: Step
    request: LLMRequest
    snapshot: Snapshot

    @cached_property
    def owners(self) -> dict[str, str]:
        """The hook that must answer a tool's calls, by the tool's name; only of injected tools."""
        return {spec.name: spec.owner for spec in self.request.tools if spec.owner}


@dataclass(frozen=True, slots=True)
class Ready:
    """Allowed and approved: this frozen call is the one that runs."""

    call: ToolCall
    spec: ToolSpec
    tool: Tool


@dataclass(frozen=True, slots=True)
class Settled:
    """A result without execution; `skipped` says why in the event, and is empty where a hook answered."""

    call: ProposedCall | ToolCall
    result: ToolResult
    skipped: str = ""


async def run_calls(batch: Batch, calls: Sequence[ReadCall], record: Record) -> bool:
    """Record (call id, result) of each call, in order, as soon as it is final. Raises what a hook aborts with.

    True when every result was already delivered to the user, so that the model need not be asked again.
    """
    handled = True
    for group in grouped(batch.request, calls):
        prepared = await _prepare_all(batch, group)
        done = await _execute_all(batch, [item for item in prepared if isinstance(item, Ready)])
        for item in prepared:
            result = await _finish(batch, done[item.call.id]) if isinstance(item, Ready) else _closed(batch, item)
            record(_id(item), result)
            handled = handled and result.response_handled
    return handled and bool(calls)


def grouped(request: LLMRequest, calls: Iterable[ReadCall]) -> list[list[ReadCall]]:
    """Runs of read-only calls together, every other call by itself."""
    groups: list[list[ReadCall]] = []
    joinable = False
    for call in calls:
        spec = request.tool(call.proposed.name)
        reads_only = spec is not None and spec.read_only
        if reads_only and joinable:
            groups[-1].append(call)
        else:
            groups.append([call])
        joinable = reads_only
    return groups


async def _prepare_all(batch: Batch, group: list[ReadCall]) -> list[Ready | Settled]:
    prepared: list[Ready | Settled] = []
    try:
        for call in group:
            prepared.append(await prepare(batch, call))  # noqa: PERF401 - the tally below needs what there is
    except BaseException:
        batch.agent.tally.dropped += sum(isinstance(item, Ready) for item in prepared)
        raise
    return prepared


async def prepare(batch: Batch, read: ReadCall) -> Ready | Settled:
    """Look up, validate; then the gate: before_tool and approval. A changed call is looked up again."""
    call = read.call
    if isinstance(call, ToolResult):
        return Settled(read.proposed, call, "its arguments cannot be read")
    spec = batch.request.tool(call.name)
    if spec is None:
        return _unknown(batch, call)
    broken = _unfit(spec, call)
    if broken is not None:
        return Settled(call, broken, "its arguments do not fit the tool")
    return await _judged(batch, call, spec)


def _unfit(spec: ToolSpec, call: ToolCall) -> ToolResult | None:
    return incomplete(spec, call) or invalid(spec, call)


async def _judged(batch: Batch, call: ToolCall, spec: ToolSpec) -> Ready | Settled:
    verdict = await batch.agent.gate.before_tool(batch.step, call, batch.owners)
    match verdict:
        case Denied(result=result):
            return await _denied(batch, verdict.call, result)
        case Answered():
            return await _answered(batch, verdict)
        case Allowed(call=allowed):
            target = spec if allowed is call else batch.request.tool(allowed.name)
            broken = _unknown(batch, allowed).result if target is None else _unfit(target, allowed)
            if target is None or broken is not None:
                batch.agent.tally.calls += 1
                batch.agent.tally.denied += 1
                return Settled(call, broken or ToolResult(""), "a hook changed it into a call that cannot run")
            return await _approved(batch, allowed, target)


async def _answered(batch: Batch, verdict: Answered) -> Settled:
    """A hook that does not own the tool gave its result: a rule's person is still asked, unless config trusts it."""
    tally, call = batch.agent.tally, verdict.call
    # By the name that was judged: what an answer says was called must not talk a rule away.
    wishes = () if verdict.unapproved else batch.agent.desk.wishes(batch.step, verdict.judged)
    refused = await _refused(batch, call, wishes)
    if refused is not None:
        return await _denied(batch, call, refused)
    tally.calls += 1
    tally.answered += 1
    batch.agent.gate.events.emit(ToolExecStart(call.name, call.arguments, call.id), batch.step)
    return await _shown(batch, call, verdict.result, perf_counter_ns())


async def _approved(batch: Batch, call: ToolCall, spec: ToolSpec) -> Ready | Settled:
    agent = batch.agent
    verdict = await agent.gate.approve_tool(batch.step, call)
    if isinstance(verdict, ToolResult):
        return await _denied(batch, call, verdict)
    refused = await _refused(batch, call, (*agent.desk.wishes(batch.step, call), *verdict))
    if refused is not None:
        return await _denied(batch, call, refused)
    agent.tally.calls += 1
    if spec.owner:
        agent.tally.answered += 1
        return await _owned(batch, call, spec)
    tool = batch.snapshot.get(call.name)
    if tool is None:
        agent.tally.denied += 1
        return _unknown(batch, call)
    agent.tally.allowed += 1
    return Ready(call, spec, tool)


async def _refused(batch: Batch, call: ToolCall, wishes: Sequence[Wish]) -> ToolResult | None:
    refused = await batch.agent.desk.settle(batch.step, call, wishes, batch.channel)
    return refusal(refused.denied_by, refused.reason) if refused else None


async def _owned(batch: Batch, call: ToolCall, spec: ToolSpec) -> Settled:
    """The owner's answer is the execution of an injected tool."""
    events, started = batch.agent.gate.events, perf_counter_ns()
    events.emit(ToolExecStart(call.name, call.arguments, call.id), batch.step)
    answer = await batch.agent.gate.answer_owned(batch.step, call, spec)
    return await _shown(batch, call, answer, started)


async def _shown(batch: Batch, call: ToolCall, answer: ToolResult, started: int) -> Settled:
    """A hook's own result: no after_tool, as the page says, but its user part is delivered and its end announced."""
    result = await _delivered(batch, rendered(answer))
    batch.agent.gate.events.emit(_ended(call, result, perf_counter_ns() - started), batch.step)
    return Settled(call, result)


async def _denied(batch: Batch, call: ToolCall, result: ToolResult) -> Settled:
    batch.agent.tally.calls += 1
    batch.agent.tally.denied += 1
    if batch.agent.show_denials:
        await batch.channel.send(Outbound(batch.step.chat, f"{call.name}: {result.for_llm}", kind="notice"))
    return Settled(call, result, result.for_llm)


def _unknown(batch: Batch, call: ToolCall) -> Settled:
    result = not_found(call.name, [spec.name for spec in batch.request.tools])
    return Settled(call, result, "there is no such tool")


# --- execute and finish -------------------------------------------------------------------------------------


async def _execute_all(batch: Batch, ready: Sequence[Ready]) -> dict[str, Finished]:
    """A failing call cancels no sibling: each failure is a result."""
    done: dict[str, Finished] = {}

    async def run(item: Ready) -> None:
        done[item.call.id] = await _execute(batch, item)

    batch.agent.tally.executed += len(ready)
    if len(ready) == 1:
        await run(ready[0])
    elif not all(item.spec.read_only for item in ready):
        # A hook has made another call of one of them.
        for item in ready:
            await run(item)
    elif ready:
        async with trio.open_nursery() as nursery:
            for item in ready:
                nursery.start_soon(run, item)
    return done


async def _execute(batch: Batch, item: Ready) -> Finished:
    call = item.call
    batch.agent.gate.events.emit(ToolExecStart(call.name, call.arguments, call.id), batch.step)
    started = perf_counter_ns()
    result = await execute(item.tool, call)
    return Finished(call, result, perf_counter_ns() - started)


async def _finish(batch: Batch, finished: Finished) -> ToolResult:
    result = rendered(await batch.agent.gate.after_tool(batch.step, finished))
    result = await _delivered(batch, result)
    batch.agent.gate.events.emit(_ended(finished.call, result, finished.duration_ns), batch.step)
    return result


async def _delivered(batch: Batch, result: ToolResult) -> ToolResult:
    """Show the user what is meant for the user. What cannot be delivered was not handled."""
    show = result.for_user if not result.silent else ""
    media = result.media if result.response_handled else ()
    if not show and not media:
        return result
    try:
        await batch.channel.send(Outbound(batch.step.chat, show, media, kind="output"))
    except Exception as error:
        # Whatever a channel raises is that channel's trouble: the tool has run, and the model must hear of it.
        log.warning("output_undelivered", session=batch.step.session_key, exc_info=error)
        reason = f"failed to deliver attachment: {error}"
        fault = Fault("transient", "deliver", reason)
        return replace(result, for_llm=reason, is_error=True, response_handled=False, error=fault)
    return replace(result, for_llm=f"{result.for_llm}\n{DELIVERED}") if result.response_handled else result


def _closed(batch: Batch, item: Settled) -> ToolResult:
    if item.skipped:
        batch.agent.gate.events.emit(ToolExecSkipped(item.call.name, item.skipped, item.call.id), batch.step)
    return item.result


def _ended(call: ToolCall, result: ToolResult, duration_ns: int) -> ToolExecEnd:
    return ToolExecEnd(
        call.name,
        duration_ns,
        len(result.for_llm),
        len(result.for_user),
        result.is_error,
        result.is_async,
        call.id,
    )


def _id(item: Ready | Settled) -> str:
    return item.call.id
