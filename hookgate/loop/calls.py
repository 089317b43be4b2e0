"""The tool calls of one reply: each is prepared (the gate, a person), executed, finished; in the reply's order.

Preparing yields either a call to run or its result. Every way to run a tool goes through here. Consecutive
read-only calls are executed together; nothing else ever is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import cast

from hookgate.loop.batch import Batch, Owned, Ready, Settled
from hookgate.loop.execute import execute_all
from hookgate.loop.finish import closed, cut_off, finish, tell_ended
from hookgate.loop.prepare import prepare
from hookgate.protocol.values import Finished, LLMRequest, ToolResult
from hookgate.tools.decode import ReadCall

Record = Callable[[str, ToolResult], Awaitable[None]]
Prepared = Ready | Owned | Settled


async def run_calls(batch: Batch, calls: Sequence[ReadCall], record: Record) -> bool:
    """Record (call id, result) of each call, in order, as soon as it is final. Raises what a hook aborts with.

    True when every result was already delivered to the user, so that the model need not be asked again.
    """
    handled = True
    for group in grouped(batch.request, calls):
        prepared = await _prepare_all(batch, group)
        done = await execute_all(batch, [item for item in prepared if not isinstance(item, Settled)])
        handled = (
            await _finish_all(batch, [(item, done.get(item.call.id, item)) for item in prepared], record) and handled
        )
    return handled and bool(calls)


async def _finish_all(batch: Batch, items: Sequence[tuple[Prepared, Prepared | Finished]], record: Record) -> bool:
    """What was prepared with what became of it; the first that a hook aborts with leaves the rest unfinished."""
    handled = True
    for number, (item, ended) in enumerate(items):
        try:
            result = (
                await finish(batch, ended) if isinstance(ended, Finished) else closed(batch, cast("Settled", ended))
            )
        except BaseException:
            cut_off(batch, [later for _, later in items[number + 1 :] if isinstance(later, Finished)])
            raise
        await record(item.call.id, result)
        tell_ended(batch, item, result)
        handled = handled and result.response_handled
    return handled


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


async def _prepare_all(batch: Batch, group: list[ReadCall]) -> list[Prepared]:
    prepared: list[Prepared] = []
    try:
        for call in group:
            prepared.append(await prepare(batch, call))  # noqa: PERF401 - the tally below needs what there is
    except BaseException:
        batch.agent.tally.dropped += sum(isinstance(item, Ready) for item in prepared)
        raise
    return prepared
