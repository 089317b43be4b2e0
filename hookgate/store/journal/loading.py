"""What was said and done in a conversation, as whoever goes on with it reads it: by itself, or with its claim."""

from __future__ import annotations

from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.values import CallState, Claim, Intent, Stored
from hookgate.protocol.values import ToolResult
from hookgate.store.journal.claims import joined
from hookgate.store.journal.encoding import decoded
from hookgate.store.journal.tables import Tables, id_of
from hookgate.store.journal.transcripts import read_entries

SHORT = 16
"""Entries that may come with a claim: the thread that writes reads no more than that."""


def load(tables: Tables, conversation: int) -> Stored:
    entries, upto = read_entries(tables, conversation)
    sql = (
        "SELECT id, intended, format, result, duration_ns, intent FROM calls "
        "WHERE conversation = ? AND reply >= ? AND gone = 0 ORDER BY rowid"
    )
    rows = tables.all(sql, conversation, upto)
    calls = tuple((id_, _state(*rest)) for id_, *rest in rows)
    return Stored(entries, calls, tuple((id_of(message), entry) for message, entry in joined(tables, conversation)))


def with_stored(tables: Tables, claim: Claim, known: int) -> Claim:
    """The claim as it is given to somebody who has read what was said up to the fence `known`."""
    its = claim.conversation
    claim = replace(claim, latest=tables.current(its.session, its.agent) == its)
    if claim.after == known and not claim.first:
        return claim
    number = tables.found(its)
    [written] = tables.one("SELECT written FROM conversations WHERE number = ?", number) or (0,)
    return replace(claim, stored=load(tables, number)) if written <= SHORT else claim


def _state(intended: int, format_: int, result: bytes | None, duration_ns: int, intent: bytes | None) -> CallState:
    if result is not None:
        return CallState(bool(intended), decoded(ToolResult, format_, result), duration_ns)
    begun = None if intent is None else decoded(Intent, format_, intent).call
    return CallState(bool(intended), None, duration_ns, begun)
