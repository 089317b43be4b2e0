"""Stored conversations, as operators are shown them."""

from __future__ import annotations

from hookgate.protocol.journal.values import Conversation
from hookgate.protocol.journal.views import SessionRow
from hookgate.store.journal.tables import Tables

SESSIONS = """
    SELECT session, agent, generation,
        (SELECT count(*) FROM entries WHERE conversation = c.number AND gone = 0),
        (SELECT count(*) FROM messages WHERE conversation = c.number AND outcome IS NULL),
        max(last_at, coalesce(
            (SELECT max(accepted_at) FROM messages WHERE conversation = c.number AND outcome IS NULL), 0
        ))
    FROM conversations c
    WHERE last_at > 0 OR EXISTS (SELECT 1 FROM messages WHERE conversation = c.number AND outcome IS NULL)
    ORDER BY number
"""


def read_sessions(tables: Tables) -> tuple[SessionRow, ...]:
    rows = tables.all(SESSIONS)
    return tuple(SessionRow(Conversation(s, a, g), *figures) for s, a, g, *figures in rows)
