"""What is left of a reply in a transcript."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.protocol.journal.values import Entry
from hookgate.protocol.values import ProposedCall


def open_calls(entries: Sequence[Entry]) -> tuple[ProposedCall, ...]:
    """Those of the last reply that have no result yet."""
    answered: set[str] = set()
    for entry in reversed(entries):
        if entry.message.role != "tool":
            return tuple(call for call in entry.message.tool_calls if call.id not in answered)
        answered.add(entry.message.tool_call_id)
    return ()
