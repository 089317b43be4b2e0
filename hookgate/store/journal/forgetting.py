"""Everything that was said in a conversation, gone; and what is too old or too much, a piece at a time.

Keys of messages outlive them as hashes, so that repeats stay known, and counters are not lowered: no number is given
twice. What somebody still waits for is never too old.
"""

from __future__ import annotations

from hookgate.protocol.journal.values import Conversation
from hookgate.store.journal.tables import Tables

KEYS_S = 90 * 86400.0
"""Longer than any platform repeats a message."""
PIECE = 500
"""Conversations, or rows of one kind, in one transaction: others write in between."""
WHY = "the conversation was forgotten"


def forget(tables: Tables, conversation: Conversation) -> bool:
    """Whether there was one."""
    number = tables.found(conversation)
    if number:
        forget_number(tables, number)
    return number > 0


def forget_number(tables: Tables, number: int) -> None:
    # First of all: whoever still works on it writes nothing any more.
    tables.run("UPDATE conversations SET fence = fence + 1, claimed_by = NULL, last_at = 0 WHERE number = ?", number)
    tables.run(
        "UPDATE requests SET state = 'void', why = ? WHERE conversation = ? AND state IN ('open', 'approved')",
        WHY,
        number,
    )
    tables.run("DELETE FROM passages WHERE message IN (SELECT number FROM messages WHERE conversation = ?)", number)
    for table in ("entries", "calls", "messages", "outbox", "answers"):
        tables.run(f"DELETE FROM {table} WHERE conversation = ?", number)  # noqa: S608 - a constant


IDLE = """
    FROM conversations c WHERE last_at > 0 AND claimed_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM messages WHERE conversation = c.number AND outcome IS NULL)
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE conversation = c.number AND state IS NULL)
    AND NOT EXISTS (SELECT 1 FROM requests WHERE conversation = c.number AND state = 'open')
"""


def drop_old(tables: Tables, before: float) -> int:
    """Of what nobody waits for: conversations that ended before then, and what is behind a summary of others. How
    many rows; at most a piece of each kind, so it is called until there are none."""
    sql = f"SELECT number {IDLE} AND last_at < ? ORDER BY last_at LIMIT ?"
    numbers = tables.all(sql, before, PIECE // 10)
    for (number,) in numbers:
        forget_number(tables, number)
    return len(numbers) + sum(tables.run(sql, before, PIECE) for sql in BEHIND) + _drop_keys(tables)


BEHIND = (
    # Entries that count no more: taken back, or below the last summary.
    """
    DELETE FROM entries WHERE rowid IN (
        SELECT e.rowid FROM entries e WHERE e.at < ?1 AND (e.gone = 1 OR e.number < (
            SELECT max(upto) FROM entries s WHERE s.conversation = e.conversation AND s.upto > 0 AND s.gone = 0
        )) LIMIT ?2
    )
    """,
    "DELETE FROM outbox WHERE number IN (SELECT number FROM outbox WHERE at < ? AND state IS NOT NULL LIMIT ?)",
    "DELETE FROM answers WHERE rowid IN (SELECT rowid FROM answers WHERE at < ? LIMIT ?)",
    "DELETE FROM requests WHERE rowid IN (SELECT rowid FROM requests WHERE at < ? AND state <> 'open' LIMIT ?)",
    """
    DELETE FROM messages WHERE number IN (
        SELECT number FROM messages WHERE accepted_at < ? AND outcome IS NOT NULL LIMIT ?
    )
    """,
    "DELETE FROM passages WHERE rowid IN ("
    "SELECT rowid FROM passages WHERE at < ? AND message NOT IN (SELECT number FROM messages) LIMIT ?)",
)


def _drop_keys(tables: Tables) -> int:
    sql = "DELETE FROM keys WHERE number IN (SELECT number FROM keys WHERE at < ? ORDER BY number LIMIT ?)"
    return tables.run(sql, tables.clock() - KEYS_S, PIECE)


def drop_oldest(tables: Tables, most_bytes: int) -> bool:
    """Forget idle conversations, the oldest first, while more is used than that. Whether there may be more to do."""
    sql = f"SELECT number {IDLE} ORDER BY last_at LIMIT 1"
    for _ in range(PIECE // 10):
        oldest = tables.one(sql)
        if oldest is None or used_bytes(tables) <= most_bytes:
            return False
        forget_number(tables, oldest[0])
    return True


def used_bytes(tables: Tables) -> int:
    """Without the pages that are free to be used again."""
    pages, free, size = (tables.one(f"PRAGMA {it}") for it in ("page_count", "freelist_count", "page_size"))
    return (pages[0] - free[0]) * size[0] if pages and free and size else 0
