"""What was said before in a conversation that is continued, short; and what is still to be answered there."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.assembly.redacting import make_redactor
from hookgate.assembly.settings import Settings
from hookgate.cli.printing import counted
from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Entry

MESSAGES, CHARACTERS = 6, 300


async def recalled(settings: Settings, journal: Journal, chat: Chat) -> list[tuple[str, bool]]:
    """A line or a few for each of the last messages that people read, and whether that is an answer; none where
    nothing was said yet."""
    redact = make_redactor(settings.config, tuple(settings.keys.values())).text
    conversation = await journal.intake.conversation(chat.session_key, settings.config.agent.name)
    entries = (await journal.work.load(conversation)).entries
    lines = [(redact(line), answers) for line, answers in _last(entries)]
    if lines:
        lines.insert(0, (f"· {counted(len(entries), 'message')} so far; the last of them:", False))
    cut_off = [left.inbound.text for left in await journal.intake.unfinished()]
    return [*lines, *((f"· going on with: {short(redact(text))}", False) for text in cut_off)]


def _last(entries: tuple[Entry, ...]) -> Iterator[tuple[str, bool]]:
    said = [it for it in entries if it.message.content.strip() and it.message.role in ("user", "assistant")]
    for entry in said[-MESSAGES:]:
        mark = "(summed up) " if entry.upto else "> " if entry.message.role == "user" else ""
        yield f"{mark}{short(entry.message.content)}", not mark


def short(text: str) -> str:
    """What was said, as far as it takes to know which it was."""
    text = text.strip()
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS].rstrip()} ... ({len(text)} characters)"
