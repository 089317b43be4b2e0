"""Running the calls that may run: the memo, the workspace lease, what a call changed; nobody is asked here."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter_ns

import trio

from hookgate.hooks.zot.whose import working_for
from hookgate.loop.batch import Batch, Owned, Ready, Settled
from hookgate.loop.execution_policy import Around
from hookgate.loop.extensions import call_scope
from hookgate.loop.finish import cut_off, owned, started
from hookgate.loop.prepare import outdated, spent
from hookgate.protocol.events.inside import CallProgressed
from hookgate.protocol.events.payloads import ToolExecStart
from hookgate.protocol.journal.values import Intent
from hookgate.protocol.redacting import presentable, redacted
from hookgate.protocol.values import Finished, ToolResult
from hookgate.protocol.zot.names import EXTENSION
from hookgate.tools import call_context
from hookgate.tools.dispatch import rendered, run
from hookgate.tools.errors import ToolError
from hookgate.tools.failures import failed

MAX_HELD = 64 * 1024
"""Characters of running output that wait because a secret may have begun in them; with more no piece is told."""
MAX_TOLD = 256 * 1024
"""Characters of running output that are told at all: the result has what the model gets."""


async def execute_all(batch: Batch, items: Sequence[Ready | Owned]) -> dict[str, Finished | Settled]:
    """What became of each call, by its id. A failing call cancels no sibling: each failure is a result.

    What never began before a cancellation is dropped.
    """
    done: dict[str, Finished | Settled] = {}
    tally, ready = batch.agent.tally, sum(isinstance(item, Ready) for item in items)
    begun = 0

    async def do(item: Ready | Owned) -> None:
        nonlocal begun
        refused = await _on_record(batch, item)
        if refused is not None:
            done[item.call.id] = Settled(item.call, refused, refused.for_llm)
            return
        begun += isinstance(item, Ready)
        started_at = perf_counter_ns()
        ended = await (owned(batch, item) if isinstance(item, Owned) else _execute(batch, item))
        done[item.call.id] = ended
        if item.is_kept:
            duration_ns = perf_counter_ns() - started_at
            await batch.journal.work.finish(batch.claim, batch.id_of(item.call), ended.result, duration_ns)

    try:
        if len(items) > 1 and all(isinstance(item, Ready) and item.spec.read_only for item in items):
            async with trio.open_nursery() as nursery:
                for item in items:
                    nursery.start_soon(do, item)
        else:
            # Of several one may be what a hook has made of a call that reads only.
            for item in items:
                await do(item)
    except BaseException:
        cut_off(batch, done.values())
        raise
    finally:
        tally.dropped += ready - begun
    return done


async def _on_record(batch: Batch, item: Ready | Owned) -> ToolResult | None:
    """Before it begins: so that nothing that may have happened is done again. The result of one that may not."""
    if late := outdated(batch, item):
        return late
    if item.permit is not None:
        return await spent(batch, item.permit)
    if item.is_kept:
        await batch.journal.work.intend(batch.claim, Intent(batch.id_of(item.call), ""))
    return None


async def _execute(batch: Batch, item: Ready) -> Finished:
    batch.used.add(item.spec.provider)
    tally, redactor, events = batch.agent.tally, batch.agent.around.redactor, batch.agent.gate.events
    if events.heard(ToolExecStart):
        events.emit(started(item.call), batch.step)
    tally.executed += 1
    begun = perf_counter_ns()
    # What comes back from here is executed no more, so hooks see the call as everybody else does.
    call = presentable(redactor, item.call)
    try:
        result = await _result(batch, item)
    except BaseException:
        cut_off(batch, [Finished(call, ToolResult(""), perf_counter_ns() - begun)])
        raise
    tally.executed -= result.cached
    tally.cached += result.cached
    return Finished(call, rendered(redacted(redactor, result)), perf_counter_ns() - begun)


async def _result(batch: Batch, item: Ready) -> ToolResult:
    """From the memo where it may be; else by running. A call that may change something voids it, however it ends."""
    if batch.agent.around.keeps(item.spec, batch.step.session_key):
        return await batch.memo.result(item.spec, item.call, lambda: _run(batch, item))
    try:
        return await _run(batch, item)
    finally:
        if not item.spec.read_only:
            batch.memo.clear()


async def _run(batch: Batch, item: Ready) -> ToolResult:
    """Under the workspace lease, with what the call changes on record."""
    around, call = batch.agent.around, item.call
    try:
        async with around.lease.held(item.spec.lease, call.name):
            call_context.secret_from.set(around.redactor.cut_from)
            with working_for(batch.step.chat), _heard(batch, call.id):
                if item.spec.provider.startswith(EXTENSION):
                    return await call_scope.serving(batch, item, lambda: _worked(around, item))
                return await _worked(around, item)
    except ToolError as error:
        return failed(call.name, error)


def _heard(batch: Batch, call_id: str) -> AbstractContextManager[None]:
    """What the call prints while it runs reaches those who watch, where there are any."""
    return _telling(batch, call_id) if batch.agent.gate.events.heard(CallProgressed) else _NOBODY


_NOBODY = nullcontext()


@contextmanager
def _telling(batch: Batch, call_id: str) -> Generator[None]:
    """Pieces are held back while a secret may have begun in them."""
    events, redactor = batch.agent.gate.events, batch.agent.around.redactor
    held, told, over = "", 0, False

    def tell(piece: str) -> None:
        nonlocal held, told, over
        if over:
            return
        held += piece
        end = redactor.held_from(held)
        told += end
        over = len(held) - end > MAX_HELD or told > MAX_TOLD
        text = "\n... [more output follows in the result]\n" if over else redactor.text(held[:end])
        held = "" if over else held[end:]
        if text:
            events.emit(CallProgressed(call_id, text), batch.step)

    token = call_context.progress.set(tell)
    try:
        yield
        if held:
            events.emit(CallProgressed(call_id, redactor.text(held)), batch.step)
    finally:
        call_context.progress.reset(token)


async def _worked(around: Around, item: Ready) -> ToolResult:
    async with around.running(item.spec):
        return await (_recorded(around, item) if item.spec.lease == "write" else run(item.tool, item.call))


async def _recorded(around: Around, item: Ready) -> ToolResult:
    call = item.call
    if around.recorder is not None:
        await around.recorder.before(call)

    async def execute() -> ToolResult:
        return await run(item.tool, call)

    result = await around.observe(call, execute) if around.observe is not None else await execute()
    if around.recorder is not None:
        await around.recorder.after(call, result)
    return result
