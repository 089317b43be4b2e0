"""Running a call that may run: put on record, then run by its tool, or by the hook that has brought the tool.

What stands round a tool (memo, lease, what it changed) is one function, `_executed`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from time import perf_counter_ns

from hookgate.loop.calls.batch import Batch, Ready, Settled
from hookgate.loop.calls.prepare import may_run
from hookgate.loop.nested.call_scope import serving
from hookgate.loop.nested.within import makes_calls
from hookgate.loop.streaming.printed import telling
from hookgate.protocol import call_context
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.events.inside import CallProgressed
from hookgate.protocol.events.payloads import ToolExecStart
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.journal.values import Intent
from hookgate.protocol.redacting import presentable
from hookgate.protocol.values import ToolResult
from hookgate.protocol.values.effects import among_others
from hookgate.tools.dispatch import run, sound
from hookgate.tools.errors import ToolError
from hookgate.tools.failures import failed
from hookgate.tools.lease import Held

_NOTHING = nullcontext()
_NOTHING_YET = ToolResult("")


async def execute(batch: Batch, under_way: list[Ready | Settled], place: int) -> None:
    """Put what becomes of a call in its place. A failing call cancels no sibling: each failure is a result.

    What cannot end, because the turn does, stands there as begun; what has not begun, as it was.
    """
    item = under_way[place]
    assert isinstance(item, Ready)  # noqa: S101 - nothing is executed twice
    tool = item.tool
    if not item.begun and (refused := await may_run(batch, item.call, item.judges, item.permit)):
        batch.agent.tally.dropped += tool is not None
        under_way[place] = Settled(item.call, refused, refused.for_llm)
        return
    kept = item.is_kept
    if kept and item.permit is None and not item.begun:
        # So that nothing that may have happened is done again; a permit that is spent is on record already.
        heard = tuple(batch.step.heard.get(item.call.id, ()))
        begun = item.call if item.delegates else None
        intent = Intent(batch.id_of(item.call), "", (), (), batch.agent.approvals.revision, heard, begun)
        await batch.journal.work.intend(batch.claim, intent)
    if batch.events.heard(ToolExecStart):
        batch.events.emit(ToolExecStart.of(item.call), batch.step)
    # What comes back from here is executed no more, so hooks see the call as everybody else does.
    call, by, begun = presentable(batch.redactor, item.call), "hook" if tool is None else "tool", perf_counter_ns()
    left = [_NOTHING_YET]
    held = Held(batch.agent.around.lease, item.spec.lease, item.call.name, batch.claim.conversation.session)
    try:
        if tool is not None:
            result = await _executed(batch, item, tool, held, left)
        else:
            batch.memo.clear()
            result = sound(await batch.agent.gate.answer_owned(batch.step, item.call, item.spec))
        result = batch.presented(result)
    except BaseException:
        duration_ns = perf_counter_ns() - begun
        began = tool is None or held.begun
        under_way[place] = Settled(call, left[-1], by=by, duration_ns=duration_ns, cut_short=True, begun=began)
        raise
    done = under_way[place] = Settled(call, result, by=by, duration_ns=perf_counter_ns() - begun)
    if kept:
        await batch.journal.work.finish(batch.claim, batch.id_of(item.call), result, done.duration_ns)


async def _executed(batch: Batch, item: Ready, tool: Tool, held: Held, left: list[ToolResult]) -> ToolResult:
    """From the memo where it may be; else by running, under the workspace lease, with what the call changes on
    record. A call that may change something voids the memo, however it ends. `left`: what it has come to where it is
    cancelled."""
    around, tally, spec, call = batch.agent.around, batch.agent.tally, item.spec, item.call
    batch.used.add(spec.provider)
    tally.executed += 1
    found = await batch.memo.found(spec, call) if around.keeps(spec, held.chat) else None
    if isinstance(found, ToolResult):
        tally.executed -= 1
        tally.cached += 1
        return found
    result: ToolResult | None = None
    try:
        async with held, _surroundings(batch, item) or _NOTHING:
            call_context.work.set(call_context.Work(batch.step.chat, left.append, around.redactor.cut_from))
            compares = [await watch(call) for watch in around.watches] if held.may_change else ()
            result = await run(tool, call)
            for compare in reversed(compares):
                result = await compare(result)
            return result if held.alone else replace(result, effects=among_others(result.effects))
    except ToolError as error:
        return failed(call.name, error)
    finally:
        if found is not None:
            batch.memo.ended(found, result)
        elif not spec.read_only:
            batch.memo.clear()


def _surroundings(batch: Batch, item: Ready) -> AbstractAsyncContextManager[None] | None:
    """What a tool runs within; None: nothing, as most do."""
    running, told = batch.agent.around.running(item.spec), batch.events.heard(CallProgressed)
    served = makes_calls(item.spec)
    return _surrounding(batch, item, running, told, served) if running or told or served else None


@asynccontextmanager
async def _surrounding(
    batch: Batch, item: Ready, running: AbstractAsyncContextManager[None] | None, told: bool, served: bool
) -> AsyncGenerator[None]:
    """What it prints is told, the calls that it makes are served."""
    telling_it = telling(batch, item.call.id) if told else nullcontext()
    async with running or nullcontext():
        with telling_it, serving(batch, item) if served else nullcontext():
            yield
