"""Entries of stored conversations: read from the last summary on, and taken back."""

from __future__ import annotations

from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.values import Draft, Entry
from hookgate.protocol.values import FAILED
from hookgate.store.journal.encoding import decoded
from hookgate.store.journal.tables import Tables, id_of

SUMMARY = """
    SELECT number, at, upto, format, body FROM entries
    WHERE conversation = ? AND upto > 0 AND gone = 0 ORDER BY number DESC LIMIT 1
"""
ABOVE = """
    SELECT number, at, upto, format, body FROM entries
    WHERE conversation = ? AND number >= ? AND upto = 0 AND gone = 0 ORDER BY number
"""


def read_entries(tables: Tables, conversation: int) -> tuple[tuple[Entry, ...], int]:
    """The last summary and every entry above it, and the number of the first that it does not stand for."""
    summary = tables.one(SUMMARY, conversation)
    upto = summary[2] if summary else 0
    rows = [*([summary] if summary else []), *tables.all(ABOVE, conversation, upto)]
    return tuple(read_entry(*row) for row in rows), upto


def first_entries(tables: Tables, conversation: int) -> dict[int, str]:
    """By the number of an entry, the id of the message that it is; several that were answered as one: the last."""
    sql = "SELECT first, number FROM messages WHERE conversation = ? AND first > 0 ORDER BY number"
    return {first: id_of(number) for first, number in tables.all(sql, conversation)}


def read_entry(number: int, at: float, upto: int, format_: int, body: bytes) -> Entry:
    draft = decoded(Draft, format_, body)
    message = draft.message
    # What wrote no such member said of a failure how it began; within a text its quotes are escaped.
    if message.role == "tool" and message.content.startswith(FAILED) and b'"is_error":' not in body:
        draft = replace(draft, message=replace(message, is_error=True))
    return replace(draft, upto=upto).numbered(number, at)


def rewind(tables: Tables, conversation: int, to: int) -> None:
    """Entries and their calls stay where they are, marked: an intent is known for ever. So do messages, by the number
    of their first entry below zero."""
    live = "conversation = ? AND gone = 0"
    tables.run(f"UPDATE entries SET gone = 1 WHERE {live} AND number >= ?", conversation, to)  # noqa: S608
    tables.run("UPDATE messages SET first = -first WHERE conversation = ? AND first >= ?", conversation, to)
    tables.run(f"UPDATE calls SET gone = 1 WHERE {live} AND reply >= ?", conversation, to)  # noqa: S608
