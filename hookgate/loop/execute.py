"""Running the calls that may run: the memo, the workspace lease, what a call changed; nobody is asked here."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from time import perf_counter_ns
from typing import cast

import trio

from hookgate.hooks.zot.whose import working_for
from hookgate.loop.around import Around
from hookgate.loop.batch import Batch, Ready
from hookgate.loop.finish import redacted, started
from hookgate.protocol.inside import CallProgressed
from hookgate.protocol.payloads import ToolExecStart
from hookgate.protocol.values import Finished, JsonObject, ToolResult
from hookgate.tools import whose
from hookgate.tools.dispatch import rendered, run
from hookgate.tools.errors import ToolError
from hookgate.tools.failures import failed


async def execute_all(batch: Batch, ready: Sequence[Ready]) -> dict[str, Finished]:
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
    batch.used.add(item.spec.provider)
    call, tally, redactor = item.call, batch.agent.tally, batch.agent.around.redactor
    events = batch.agent.gate.events
    if events.heard(ToolExecStart):
        events.emit(started(call), batch.step)
    begun = perf_counter_ns()
    result = await _result(batch, item)
    duration_ns = perf_counter_ns() - begun
    tally.executed -= result.cached
    tally.cached += result.cached
    # What comes back from here is executed no more, so hooks see it as everybody else does.
    arguments = redactor.value(call.arguments)
    if arguments is not call.arguments:
        call = replace(call, arguments=cast("JsonObject", arguments))
    return Finished(call, redacted(redactor, result), duration_ns)


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
            with working_for(batch.step.chat), _heard(batch, call.id):
                if item.spec.lease != "write":
                    return await run(item.tool, call)
                return await _recorded(around, item)
    except ToolError as error:
        return rendered(failed(call.name, error))


def _heard(batch: Batch, call_id: str) -> AbstractContextManager[None]:
    """What the call prints while it runs reaches those who watch, where there are any."""
    return _telling(batch, call_id) if batch.agent.gate.events.heard(CallProgressed) else _NOBODY


_NOBODY = nullcontext()


@contextmanager
def _telling(batch: Batch, call_id: str) -> Generator[None]:
    events, redactor = batch.agent.gate.events, batch.agent.around.redactor

    def tell(piece: str) -> None:
        events.emit(CallProgressed(call_id, redactor.text(piece)), batch.step)

    token = whose.progress.set(tell)
    try:
        yield
    finally:
        whose.progress.reset(token)


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
