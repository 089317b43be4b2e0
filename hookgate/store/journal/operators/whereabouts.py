"""Where a message is by now: read from what is stored of it, beside whoever works on it."""

from __future__ import annotations

from hookgate.protocol.chat import Inbound
from hookgate.protocol.journal.views import Passage, Whereabouts
from hookgate.store.attempts import MOST_FOUND
from hookgate.store.journal.encoding import decoded
from hookgate.store.journal.statements import Row
from hookgate.store.journal.tables import Tables, id_of, number_of

KNOWN = "SELECT number FROM messages WHERE number = ? AND inbound IS NOT NULL"
BEGINNING = """
    SELECT number FROM messages WHERE substr('M' || number, 1, length(?1)) = ?1 AND inbound IS NOT NULL
    ORDER BY number LIMIT ?2
"""
UNFINISHED = """
    SELECT number FROM messages WHERE outcome IS NULL AND kind = 'message' AND joined_at = 0 ORDER BY number LIMIT ?
"""
MESSAGE = """
    SELECT m.conversation, m.accepted_at, m.format, m.inbound, m.outcome,
        m.joined_at > 0 OR (c.claimed_by IS NOT NULL AND c.claimed_message = m.number)
    FROM messages m JOIN conversations c ON c.number = m.conversation WHERE m.number = ?
"""
ASKED = """
    SELECT 1 FROM requests WHERE message = ? AND state IN ('open', 'approved') AND state = 'open'
    AND (expires_at = 0 OR expires_at > ?)
"""
"""In whatever conversation, tasks have their own; as the index for it is written."""
LEAVING = "SELECT 1 FROM outbox WHERE conversation = ? AND message = ? AND state IS NULL"
PASSAGES = "SELECT what, at, why FROM passages WHERE message = ? ORDER BY rowid"


def find_messages(tables: Tables, message: str) -> tuple[Whereabouts, ...]:
    """As the journal's `where`."""
    rows = tables.all(KNOWN, number_of(message))
    if not rows:
        rows = _beginning(tables, message) if message else tables.all(UNFINISHED, MOST_FOUND)
    return tuple(find_message(tables, number) for (number,) in rows)


def _beginning(tables: Tables, message: str) -> list[Row]:
    return tables.all(BEGINNING, message, MOST_FOUND)


def find_message(tables: Tables, number: int) -> Whereabouts:
    """By its number, which is there."""
    [(conversation, at, format_, inbound, outcome, taken)] = tables.all(MESSAGE, number)
    passages = (Passage("accepted", at), *(Passage(*row) for row in tables.all(PASSAGES, number)))
    why = ""
    if outcome is not None and tables.one(LEAVING, conversation, number):
        state = "sending"
    elif outcome is not None:
        state, why = Whereabouts.came_to(outcome, passages)
    elif tables.one(ASKED, number, tables.clock()):
        state = "waiting"
    else:
        state = "running" if taken else "queued"
    text = decoded(Inbound, format_, inbound).text
    return Whereabouts(id_of(number), tables.conversation(conversation), text, state, passages, why)
