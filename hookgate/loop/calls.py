"""The tool calls of one reply: each is prepared (the gate, a person), executed, finished; in the reply's order.

Preparing yields either a call to run or its result. Every way to run a tool goes through here. Consecutive
read-only calls are executed together; nothing else ever is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import cast

from hookgate.loop.batch import Batch, Final, Owned, Ready, Settled
from hookgate.loop.execute import execute_all
from hookgate.loop.finish import closed, cut_off, finish, tell_ended
from hookgate.loop.prepare import prepare
from hookgate.protocol.values import Finished, LLMRequest
from hookgate.tools.decode import ReadCall
from hookgate.tools.failures import failure

SKIPPED = "skipped: the user has said something else meanwhile"
AGAIN = "Ask for it again where it is still wanted."

Record = Callable[[str, Final], Awaitable[None]]
Asked = ReadCall | Finished | Settled
Prepared = Ready | Owned | Settled | Finished


async def run_calls(batch: Batch, calls: Sequence[Asked], record: Record) -> bool:
    """Record what each call came to, by its id, in order, as soon as it is final. Raises what a hook aborts with.
    What has come further already, before a crash, goes on where it was.

    True when every result was already delivered to the user, so that the model need not be asked again.
    """
    handled = True
    for number, group in enumerate(grouped(batch.request, calls)):
        if number and batch.interrupted():
            group = [_skipped(it) for it in group]
        prepared = await _prepare_all(batch, group)
        done = await execute_all(batch, [item for item in prepared if isinstance(item, Ready | Owned)])
        handled = (
            await _finish_all(batch, [(item, done.get(item.call.id, item)) for item in prepared], record) and handled
        )
    return handled and bool(calls)


def _skipped(call: Asked) -> Asked:
    """One that has not been prepared does not begin any more."""
    if not isinstance(call, ReadCall):
        return call
    return Settled(call.proposed, failure("transient", call.proposed.name, SKIPPED, hint=AGAIN), SKIPPED)


async def _finish_all(batch: Batch, items: Sequence[tuple[Prepared, Prepared]], record: Record) -> bool:
    """What was prepared with what became of it; the first that a hook aborts with leaves the rest unfinished."""
    handled = True
    for number, (item, ended) in enumerate(items):
        try:
            final = (
                await finish(batch, ended) if isinstance(ended, Finished) else closed(batch, cast("Settled", ended))
            )
        except BaseException:
            cut_off(batch, [later for _, later in items[number + 1 :] if isinstance(later, Finished)])
            raise
        await record(item.call.id, final)
        tell_ended(batch, item, final.result)
        handled = handled and final.result.response_handled
    return handled


def grouped(request: LLMRequest, calls: Iterable[Asked]) -> list[list[Asked]]:
    """Runs of read-only calls together, every other call by itself."""
    groups: list[list[Asked]] = []
    joinable = False
    for call in calls:
        spec = request.tool(call.proposed.name) if isinstance(call, ReadCall) else None
        reads_only = spec is not None and spec.read_only
        if reads_only and joinable:
            groups[-1].append(call)
        else:
            groups.append([call])
        joinable = reads_only
    return groups


async def _prepare_all(batch: Batch, group: list[Asked]) -> list[Prepared]:
    prepared: list[Prepared] = []
    try:
        for call in group:
            came = await prepare(batch, call) if isinstance(call, ReadCall) else call
            prepared.append(came)
    except BaseException:
        batch.agent.tally.dropped += sum(isinstance(item, Ready) for item in prepared)
        raise
    return prepared
