"""Everything that was said in a conversation, gone; and what is too old or too much, a piece at a time.

Keys of messages outlive them as hashes, so that repeats stay known, and counters are not lowered: no number is given
twice. What somebody still waits for is never too old.
"""

from __future__ import annotations

from hookgate.protocol.journal.values import Conversation, led_by
from hookgate.store.journal.tables import Tables

KEYS_S = 90 * 86400.0
"""Longer than any platform repeats a message."""
PIECE = 50
"""Conversations in one transaction: others write in between."""


def forget(tables: Tables, conversation: Conversation) -> bool:
    """Whether there was one. What other agents said about tasks that it led to goes with it."""
    number = tables.found(conversation)
    if number:
        said = {f"M{message}" for (message,) in tables.all(MESSAGES, number)}
        for task, agent in tables.all(TASKS, conversation.session, conversation.generation):
            if led_by(agent)[1] in said:
                forget_number(tables, task)
        forget_number(tables, number)
    return number > 0


MESSAGES = "SELECT number FROM messages WHERE conversation = ?"
TASKS = "SELECT number, agent FROM conversations WHERE session = ? AND generation = ? AND instr(agent, '+') > 0"


def forget_number(tables: Tables, number: int) -> None:
    # First of all: whoever still works on it writes nothing any more.
    tables.run("UPDATE conversations SET fence = fence + 1, claimed_by = NULL, last_at = 0 WHERE number = ?", number)
    tables.run("DELETE FROM passages WHERE message IN (SELECT number FROM messages WHERE conversation = ?)", number)
    tables.run(
        "UPDATE messages SET inbound = NULL, outcome = coalesce(outcome, 'dropped') WHERE conversation = ?", number
    )
    for table in ("entries", "calls", "requests", "outbox", "answers", "audit_texts"):
        tables.run(f"DELETE FROM {table} WHERE conversation = ?", number)  # noqa: S608 - a constant


IDLE = """
    FROM conversations c WHERE last_at > 0 AND claimed_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM messages WHERE conversation = c.number AND outcome IS NULL)
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE conversation = c.number AND state IS NULL)
    AND NOT EXISTS (SELECT 1 FROM requests WHERE conversation = c.number AND state = 'open')
    AND (instr(agent, '+') = 0 OR NOT EXISTS (
        SELECT 1 FROM messages m JOIN conversations o ON o.number = m.conversation
        WHERE m.outcome IS NULL AND o.session = c.session
    ))
"""
"""Whoever goes on with a message goes on with the tasks that it has led to."""


def drop_old(tables: Tables, before: float, after: int) -> int:
    """Of what nobody waits for: conversations that ended before then, and what is behind a summary of others. Of a
    piece of those with numbers above `after`: the last of these; 0: there are none."""
    sql = "SELECT number FROM conversations WHERE number > ? ORDER BY number LIMIT ?"
    numbers = [number for (number,) in tables.all(sql, after, PIECE)]
    for number in numbers:
        tables.lock(number)
        if tables.one(f"SELECT 1 {IDLE} AND last_at < ? AND number = ?", before, number):
            forget_number(tables, number)
        else:
            for sql in BEHIND:
                tables.run(sql, number, before)
            for sql in WITHOUT_REPLY:
                tables.run(sql, number)
    if not numbers:
        sql = "DELETE FROM messages WHERE inbound IS NULL AND accepted_at < ? AND number < ?"
        [newest] = tables.one("SELECT max(number) FROM messages") or (0,)
        tables.run(sql, tables.clock() - KEYS_S, newest or 0)
    return max(numbers, default=0)


BEHIND = (
    "DELETE FROM entries WHERE conversation = ?1 AND gone = 1 AND at < ?2",
    """
    DELETE FROM entries WHERE conversation = ?1 AND gone = 0 AND at < ?2 AND number < (
        SELECT max(upto) FROM entries WHERE conversation = ?1 AND upto > 0 AND gone = 0
    )
    """,
    # A card is edited once somebody has decided.
    """
    DELETE FROM outbox WHERE conversation = ?1 AND state IN ('delivered', 'dead') AND at < ?2
    AND request NOT IN (SELECT id FROM requests WHERE state = 'open')
    """,
    "DELETE FROM answers WHERE conversation = ?1 AND at < ?2",
    "DELETE FROM requests WHERE conversation = ?1 AND state NOT IN ('open', 'approved') AND at < ?2",
    """
    DELETE FROM passages WHERE message IN (
        SELECT number FROM messages WHERE conversation = ?1 AND outcome IS NOT NULL AND accepted_at < ?2
    )
    """,
    """
    UPDATE messages SET inbound = NULL
    WHERE conversation = ?1 AND outcome IS NOT NULL AND accepted_at < ?2 AND inbound IS NOT NULL
    """,
)

WITHOUT_REPLY = (
    """
    DELETE FROM calls WHERE conversation = ?1 AND gone = 0 AND reply < (
        SELECT coalesce(min(number), 0) FROM entries WHERE conversation = ?1 AND gone = 0
    )
    """,
    """
    DELETE FROM calls WHERE conversation = ?1 AND gone = 1
    AND reply NOT IN (SELECT number FROM entries WHERE conversation = ?1 AND gone = 1)
    """,
)
"""Calls of which the reply that they stood in is gone by now."""


def drop_oldest(tables: Tables, most_bytes: int) -> bool:
    """Forget idle conversations, the oldest first, while more is used than that. Whether there may be more to do."""
    sql = f"SELECT number {IDLE} ORDER BY last_at LIMIT 1"
    for _ in range(PIECE):
        oldest = tables.one(sql)
        if oldest is None or tables.used_bytes() <= most_bytes:
            return False
        tables.lock(oldest[0])
        if tables.one(f"SELECT 1 {IDLE} AND number = ?", oldest[0]):
            forget_number(tables, oldest[0])
    return True
