"""What was given up: listed, tried again, dropped. Who does that stands in the audit chain."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.journal.views import DeadLetter
from hookgate.store.attempts import BROKE_OFF, MOST_FOUND, MOST_TEXT
from hookgate.store.journal.audit.chain import note
from hookgate.store.journal.encoding import decoded
from hookgate.store.journal.tables import Tables, id_of, number_of

MESSAGES = """
    SELECT number, conversation, accepted_at, attempts, format, inbound FROM messages
    WHERE outcome = 'dead' AND inbound IS NOT NULL ORDER BY number DESC LIMIT ?
"""
# An edit of a card that is not there is no letter of its own.
ROWS = """
    SELECT id, conversation, message, at, tries, receipt, format, outbound FROM outbox
    WHERE state = 'dead' AND edits = '' ORDER BY number DESC LIMIT ?
"""
MESSAGE = """
    SELECT conversation, number, format, inbound FROM messages
    WHERE number = ? AND outcome = 'dead' AND inbound IS NOT NULL
"""
# The message that it answers, as far as it is not forgotten.
ROW = """
    SELECT conversation, (SELECT m.number FROM messages m WHERE m.number = o.message AND m.inbound IS NOT NULL),
        format, outbound FROM outbox o WHERE id = ? AND state = 'dead'
"""
# A turn that others came after does not go on: what they wrote would count as its own. It is a new one, at the end.
ANSWERED = """
    UPDATE messages SET outcome = NULL, attempts = 0, stopped = 0, first = CASE WHEN EXISTS (
        SELECT 1 FROM messages m WHERE m.conversation = messages.conversation AND m.first > messages.first
    ) THEN 0 ELSE first END WHERE number = ?
"""
AGAIN = """
    UPDATE outbox SET state = NULL, tries = 0, again_at = 0, receipt = '' WHERE ? IN (id, edits) AND state = 'dead'
"""


def dead_letters(tables: Tables) -> tuple[DeadLetter, ...]:
    """The last ones, the newest first."""
    found = (*_messages(tables), *_rows(tables))
    return tuple(sorted(found, key=lambda it: it.at, reverse=True)[:MOST_FOUND])


def _messages(tables: Tables) -> Iterator[DeadLetter]:
    for number, conversation, at, tries, format_, body in tables.all(MESSAGES, MOST_FOUND):
        text, id_ = decoded(Inbound, format_, body).text, id_of(number)
        session = tables.conversation(conversation).session
        yield DeadLetter(id_, "incoming", session, id_, text[:MOST_TEXT], at, BROKE_OFF, tries)


def _rows(tables: Tables) -> Iterator[DeadLetter]:
    for id_, conversation, message, at, tries, why, format_, body in tables.all(ROWS, MOST_FOUND):
        text, session = decoded(Outbound, format_, body).text, tables.conversation(conversation).session
        yield DeadLetter(id_, "outgoing", session, id_of(message), text[:MOST_TEXT], at, why, tries + 1)


def retry(tables: Tables, letter: str, by: str) -> Chat | None:
    """As the journal's `retry`."""
    found = _known(tables, letter, "retried", by)
    if found is None:
        return None
    if number := number_of(letter):
        tables.run(ANSWERED, number)
    else:
        tables.run(AGAIN, letter)
    return found


def drop(tables: Tables, letter: str, by: str) -> bool:
    """As the journal's `drop`."""
    if _known(tables, letter, "dropped", by) is None:
        return False
    if number := number_of(letter):
        tables.run("UPDATE messages SET outcome = 'dropped' WHERE number = ?", number)
    else:
        tables.run("DELETE FROM outbox WHERE ? IN (id, edits) AND state = 'dead'", letter)
    return True


def _known(tables: Tables, letter: str, act: str, by: str) -> Chat | None:
    """Its chat, where it is one; what is done with it is on record then."""
    number = number_of(letter)
    row = tables.held(MESSAGE, number) if number else tables.held(ROW, letter)
    if row is None:
        return None
    conversation, message, format_, body = row
    note(tables, conversation, {"kind": act, "letter": letter, "by": by})
    if message:
        tables.passed(message, act, f"by {by}")
    return decoded(Inbound if number else Outbound, format_, body).chat
