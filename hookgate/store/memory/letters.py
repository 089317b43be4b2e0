"""What was given up, and what waits to leave. Nothing of it goes on record: this journal keeps none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.views import DeadLetter, Outgoing
from hookgate.store.attempts import BROKE_OFF, MOST_TEXT
from hookgate.store.memory.rows import MessageRow, OutboxRow
from hookgate.store.memory.tables import Tables


def dead_letters(tables: Tables) -> tuple[DeadLetter, ...]:
    """The newest first."""
    found = (*_messages(tables), *(_letter(it) for it in tables.letters.values()))
    return tuple(sorted(found, key=lambda it: it.at, reverse=True))


def _messages(tables: Tables) -> Iterator[DeadLetter]:
    for it in tables.messages.values():
        if it.outcome == "dead":
            text, at, session = it.inbound.text[:MOST_TEXT], it.passages[0].at, it.conversation.session
            yield DeadLetter(it.id, "incoming", session, it.id, text, at, BROKE_OFF, it.attempts)


def _letter(stored: OutboxRow) -> DeadLetter:
    row, said = stored.row, stored.row.outbound
    text, session = said.text[:MOST_TEXT], said.chat.session_key
    return DeadLetter(row.id, "outgoing", session, row.in_reply_to, text, stored.at, stored.given_up, row.tries + 1)


def retry(tables: Tables, letter: str) -> Chat | None:
    """As the journal's `retry`."""
    message, row = _dead(tables, letter), tables.letters.pop(letter, None)
    if message is not None:
        message.outcome, message.attempts, message.stopped = None, 0, False
        if any(
            it.conversation == message.conversation and it.first > message.first for it in tables.messages.values()
        ):
            # What those wrote who came after it would count as its own turn's.
            message.first = 0
        tables.unfinished[letter] = message
        tables.ended.remove(letter)
        tables.passed(message, "retried")
        tables.ring()
        return message.inbound.chat
    if row is None:
        return None
    row.row, row.given_up, row.again_at = replace(row.row, tries=0), "", 0.0
    # It stood before all that its chat is to get now.
    tables.outbox = {letter: row, **tables.outbox}
    tables.ring()
    return row.row.outbound.chat


def drop(tables: Tables, letter: str) -> bool:
    """As the journal's `drop`."""
    message = _dead(tables, letter)
    if message is not None:
        message.outcome = "dropped"
        tables.passed(message, "dropped")
    return message is not None or tables.letters.pop(letter, None) is not None


def _dead(tables: Tables, letter: str) -> MessageRow | None:
    message = tables.messages.get(letter)
    return message if message is not None and message.outcome == "dead" else None


def outgoing(tables: Tables) -> tuple[Outgoing, ...]:
    """By chat, what was tried most often first."""
    chats = defaultdict[str, list[OutboxRow]](list)
    for it in tables.outbox.values():
        if not it.open:
            chats[it.row.outbound.chat.session_key].append(it)
    found = (
        Outgoing(
            first.row.outbound.chat.channel, key, len(rows), first.at, first.row.tries, first.failed, first.again_at
        )
        for key, rows in chats.items()
        for first in rows[:1]
    )
    return tuple(sorted(found, key=lambda it: (-it.tries, it.since)))
