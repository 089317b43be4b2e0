"""The tool calls of one reply: each is prepared (the gate, a person), executed, finished; in the reply's order.

Every way to run a tool goes through here. Consecutive read-only calls are executed together, and so are consecutive
ones that hand tasks to other agents; nothing else ever is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import cast

import trio

from hookgate.loop.calls.auditing import call_audit, cut_off_audit
from hookgate.loop.calls.batch import Batch, Ready, Settled
from hookgate.loop.calls.execute import execute
from hookgate.loop.calls.finish import cut_off, finish, tell_ended
from hookgate.loop.calls.prepare import prepare
from hookgate.loop.nested.within import delegates
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.errors import SessionAborted
from hookgate.protocol.journal.audit import CallAudit
from hookgate.protocol.journal.values import Fenced
from hookgate.tools.decode import ReadCall
from hookgate.tools.failures import failure

SKIPPED = "skipped: the user has said something else meanwhile"
AGAIN = "Ask for it again where it is still wanted."

Record = Callable[[str, Settled, CallAudit], Awaitable[None]]
"""Stores what a call came to, with what people read of it and its record, in one step."""
Unrecorded = ReadCall | Settled | Ready
"""A call, however far it has come."""


async def run_calls(batch: Batch, calls: Sequence[Unrecorded], record: Record) -> bool:
    """Record what each call came to, by its id, in order, as soon as it is final. Raises what a hook aborts with, and
    what it leaves unfinished ends. What has come further already, before a crash, goes on where it was.

    True when every result was already delivered to the user, so that the model need not be asked again.
    """
    handled, ended = bool(calls), 0
    for number, group in enumerate((calls,) if len(calls) == 1 else _grouped(batch, calls)):
        skips = number > 0 and batch.interrupted()
        under_way, ready = list[Ready | Settled](), dict[int, Ready]()
        try:
            for place, call in enumerate(group):
                under_way.append(begun := await _begun(batch, call, skips=skips))
                if isinstance(begun, Ready):
                    ready[place] = begun
            # Of several one may be what a hook has made of a call that reads only.
            runs = ready.values()
            if len(ready) > 1 and (all(it.reads_only for it in runs) or all(it.delegates for it in runs)):
                await _together(batch, under_way, ready)
            else:
                for place in ready:
                    await execute(batch, under_way, place)
            while under_way:
                final = await finish(batch, under_way[0])
                del under_way[0]
                await record(final.call.id, final, call_audit(batch, final))
                ended += 1
                tell_ended(batch, final)
                handled = handled and final.result.response_handled
        except BaseException:
            cut_off(batch, under_way, calls[ended + len(under_way) :])
            batch.cut_off.extend(cut_off_audit(batch, call) for call in calls[ended:])
            raise
    return handled


async def _begun(batch: Batch, call: Unrecorded, *, skips: bool) -> Ready | Settled:
    """As far as it comes before it may run; `skips`: no further than it is."""
    if isinstance(call, Ready):
        batch.agent.tally.count("allowed")
    if isinstance(call, Ready | Settled):
        return call
    if skips:
        told = failure("transient", call.proposed.name, SKIPPED, hint=AGAIN)
        return Settled(call.proposed, told, SKIPPED)
    return await prepare(batch, call)


async def _together(batch: Batch, under_way: list[Ready | Settled], places: Iterable[int]) -> None:
    """Raises what ends the turn as one that runs alone does."""
    try:
        async with trio.open_nursery() as nursery:
            for place in places:
                nursery.start_soon(execute, batch, under_way, place)
    except BaseExceptionGroup as group:
        for ending in (SessionAborted, Fenced, StoreFailed):
            if (found := group.subgroup(ending)) is not None:
                raise _first(found) from None
        raise


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return (
        _first(cast("BaseExceptionGroup[BaseException]", first)) if isinstance(first, BaseExceptionGroup) else first
    )


def _grouped(batch: Batch, calls: Sequence[Unrecorded]) -> Iterator[list[Unrecorded]]:
    """Runs of read-only calls together, and of those that hand on tasks; every other call by itself."""

    def kind(call: Unrecorded) -> str:
        spec = batch.spec(call.proposed.name) if isinstance(call, ReadCall) else None
        spec = call.spec if isinstance(call, Ready) else spec
        if spec is None:
            return ""
        return "reads" if spec.read_only else "delegates" if delegates(spec) else ""

    for together, several in groupby(calls, kind):
        run = list(several)
        yield from [run] if together else ([call] for call in run)
