"""Tool calls that an extension makes itself, for the chat that it serves: prepared, executed, finished as any call.

They join no transcript. One that is made while a tool of the extension runs belongs to that tool's turn; any other
stands beside the turns of its chat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from secrets import token_hex

from hookgate.hooks.zot.extension_calls import ExtensionCall
from hookgate.loop.calls.batch import Batch, Settled
from hookgate.loop.calls.calls import run_calls
from hookgate.loop.gateway import Gateway
from hookgate.loop.nested import call_scope
from hookgate.loop.sessions.claims import open_claim
from hookgate.protocol import call_context
from hookgate.protocol.chat import Inbound
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.errors import SessionAborted, TurnAborted
from hookgate.protocol.events.inside import CallProposed
from hookgate.protocol.journal.audit import CallAudit
from hookgate.protocol.journal.values import Claim, Conversation
from hookgate.protocol.redacting import presentable
from hookgate.protocol.values import LLMRequest, ProposedCall, Step, ToolCall, ToolResult, ToolSpec
from hookgate.tools.decode import ReadCall
from hookgate.tools.dispatch import failure

VisibleSpecs = Callable[[Step, Sequence[ToolSpec]], tuple[ToolSpec, ...]]
"""Those of the registered tools that a chat may have."""


async def run_extension_call(gateway: Gateway, shown: VisibleSpecs, own_call: ExtensionCall) -> ToolResult:
    """The result as any call's. Raises nothing (but Cancelled): where a hook aborts, the extension hears why, and the
    turn that it belongs to ends."""
    within = call_scope.current.get()
    if within is not None:
        return await _run(gateway, _within(within, own_call), own_call, within)
    # Beside the turns of its chat, which have claims of their own. By chance, so that nothing that was decided in an
    # earlier run is about this call.
    beside = f"{gateway.agent_of(own_call.chat).name}+{own_call.extension}.{token_hex(8)}"
    async with open_claim(gateway.journal.work, Conversation(own_call.chat.session_key, beside)) as claim:
        return await _run(gateway, _between(gateway, claim, shown, own_call), own_call)


async def _run(
    gateway: Gateway, batch: Batch, own_call: ExtensionCall, within: call_scope.Served | None = None
) -> ToolResult:
    redactor = batch.redactor
    call = ToolCall(redactor.text(f"{own_call.extension}:{own_call.id}"), own_call.name, own_call.arguments)
    if within is not None:
        batch = replace(batch, ids={call.id: f"{within.call_id}/{next(within.numbers)}"})
    batch.events.emit(CallProposed(presentable(redactor, call)), batch.step)
    results: list[ToolResult] = []

    async def record(_id: str, final: Settled, audit: CallAudit) -> None:
        results.append(final.result)
        await gateway.journal.work.append(batch.claim, (), final.outbox, (audit,))
        if final.outbox:
            await gateway.delivery.flush(own_call.chat)

    try:
        await run_calls(batch, [_read(call)], record)
    except TurnAborted as error:
        if within is None:
            await gateway.journal.work.append(batch.claim, (), (), batch.cut_off)
        if within is not None:
            within.abort(error)
        elif isinstance(error, SessionAborted):
            await gateway.abort(own_call.chat, error)
        return failure("permission", own_call.name, str(error), denied_by=f"hook:{error.hook}")
    return results[0]


def _within(within: call_scope.Served, own_call: ExtensionCall) -> Batch:
    """The turn's own tools, memo and channel."""
    batch = within.batch
    around = replace(batch.agent.around, lease=within.lease)
    step = replace(batch.step, extension=own_call.extension)
    return replace(
        batch,
        agent=replace(batch.agent, around=around),
        step=step,
        within_writer=within.writer or batch.within_writer,
    )


def _between(gateway: Gateway, claim: Claim, shown: VisibleSpecs, own_call: ExtensionCall) -> Batch:
    """What a model would be offered in this chat now, before any hook has a say in it."""
    chat, agent = own_call.chat, gateway.agent_of(own_call.chat)
    call_context.session.set(chat.session_key)
    snapshot = agent.selection.of(agent.registry.snapshot(), chat.channel)
    turn_id = f"{agent.name}-turn-{next(agent.numbers)}"
    step = agent.step(turn_id, Inbound(chat, ""), extension=own_call.extension)
    request = LLMRequest(agent.model, (), shown(step, snapshot.specs), agent.options)
    request = agent.gate.offered(step, request, agent.selection.fits(chat.channel))
    return Batch(agent, gateway.outlet(chat), claim, step, request, snapshot, gateway.journal)


def _read(call: ToolCall) -> ReadCall:
    return ReadCall(ProposedCall(call.id, call.name, encode(call.arguments).decode()), call)
