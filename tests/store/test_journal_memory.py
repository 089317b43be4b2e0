"""The journal in memory over a long run: it grows with what is said and with nothing else."""

from __future__ import annotations

import gc
import tracemalloc

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Arrival, CallRecord, Draft, Intent
from hookgate.protocol.values import Message, ToolCall, ToolResult
from hookgate.store.memory import MemoryJournal
from hookgate.store.memory.tables import KEPT

WARM = KEPT + 200
TURNS = 2000
ONE_TURN = 300
"""Bytes that a turn may cost for good, where its conversation is summed up or begun anew: far less than its text."""
TEXT = "x" * 2000


async def turn(journal: Journal, number: int) -> None:
    chat = Chat("test", "1")
    accepted = await journal.intake.accept(Arrival(Inbound(chat, f"{TEXT}{number}"), "main", ""))
    claim = await journal.work.claim("g", 60.0, accepted.conversation, accepted.id)
    assert claim is not None
    await journal.work.append(claim, [Draft(Message("user", f"{TEXT}{number}"))])
    call = CallRecord(ToolCall("c", "t", {"text": f"{TEXT}{number}"}), None, "main", 0)
    (reply,) = await journal.work.append(claim, [Draft(Message("assistant", f"{TEXT}{number}"), (call,))])
    await journal.work.intend(claim, Intent(reply.calls[0].id, ""))
    await journal.work.finish(claim, reply.calls[0].id, ToolResult(f"{TEXT}{number}"), 1)
    if number % 10 == 9:
        await journal.work.append(claim, [Draft(Message("user", "all of it"), upto=reply.number + 1)])
    await journal.work.complete(claim, "answered", [Draft(Message("assistant", "done"))])
    if number % 100 == 99:
        new = await journal.intake.accept(Arrival(Inbound(chat, "/new"), "main", "", kind="command", effect="new"))
        await journal.intake.settle(new.id, "answered")


async def test_a_long_run_costs_nothing_for_what_nobody_can_ask_for_any_more() -> None:
    journal = MemoryJournal()
    for number in range(WARM):
        await turn(journal, number)
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(TURNS):
            await turn(journal, number)
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # What is kept for a while was made anew, so it counts once.
    assert grown < KEPT * (len(TEXT) + 3000) + TURNS * ONE_TURN
