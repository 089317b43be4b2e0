"""What a journal holds and what waits in it, at one moment: counted by indexes of what is unfinished alone."""

from __future__ import annotations

from pathlib import Path

from hookgate.protocol.journal.views import AuditView, Outgoing, Overview, StoreView
from hookgate.store.journal.audit.anchors import last_checkpoint
from hookgate.store.journal.operators.letters import dead_letters
from hookgate.store.journal.tables import Tables

CONVERSATIONS = "SELECT count(*) FROM conversations WHERE last_at > 0"
UNFINISHED = "SELECT count(*) FROM messages WHERE outcome IS NULL AND kind = 'message' AND joined_at = 0"
DEAD = """
    SELECT (SELECT count(*) FROM messages WHERE outcome = 'dead' AND inbound IS NOT NULL)
        + (SELECT count(*) FROM outbox WHERE state = 'dead' AND edits = '')
"""
OUTGOING = """
    SELECT o.channel, o.chat, f.rows, o.at, o.tries, o.receipt, o.again_at FROM outbox o JOIN (
        SELECT min(number) AS first, count(*) AS rows FROM outbox WHERE state IS NULL GROUP BY channel, chat
    ) f ON f.first = o.number ORDER BY o.tries DESC, o.at
"""
LAST_RECORD = "SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1"


def overview(path: Path, tables: Tables) -> Overview:
    [conversations], [unfinished], [dead] = (tables.one(sql) or (0,) for sql in (CONVERSATIONS, UNFINISHED, DEAD))
    outgoing = tuple(Outgoing(*row) for row in tables.all(OUTGOING))
    store = StoreView(tables.place or str(path), *tables.written(path), tables.used_bytes())
    records, head = tables.one(LAST_RECORD) or (0, b"")
    audit = AuditView(records, head.hex(), *last_checkpoint(path))
    return Overview(conversations, unfinished, outgoing, dead, dead_letters(tables), store, audit)
